// Value: a value of Python while a template is rendered. Lists, tuples and dicts are immutable (the
// sandbox forbids changing them), so they are shared and their nesting is known. Everything that
// can change is an Object, owned by the Runtime of the rendering.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/text.h"

namespace windrow::jinja {

class Dict;
class List;
class Object;
class Runtime;
class Value;

using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;

// Wider than results may be (int64 and uint64), so that overflow can be checked afterwards.
__extension__ using Integer = __int128;

// An undefined value, with what is missing for the error message.
struct Undefined {
  TextPtr name;              // may be null
  const char* of = nullptr;  // the type that has no such attribute; null: a variable is missing
  bool unsafe = false;       // it exists, but the sandbox hides it
};

struct None {};

class Value {
 public:
  // In the order of the variant. A tuple is a List of another ListKind.
  enum class Kind : uint8_t {
    kUndefined,
    kNone,
    kBool,
    kInteger,
    kFloat,
    kText,
    kList,
    kDict,
    kObject
  };

  Value() : data_(Undefined{}) {}
  explicit Value(Undefined undefined) : data_(std::move(undefined)) {}
  explicit Value(None) : data_(None{}) {}
  // Not for pointers.
  explicit Value(std::same_as<bool> auto flag) : data_(flag) {}
  explicit Value(Integer integer) : data_(integer) {}
  explicit Value(double number) : data_(number) {}
  explicit Value(TextPtr text) : data_(std::move(text)) {}
  explicit Value(ListPtr list) : data_(std::move(list)) {}
  explicit Value(DictPtr dict) : data_(std::move(dict)) {}
  explicit Value(Object* object) : data_(object) {}

  static Value integer(int64_t value) { return Value(Integer{value}); }
  static Value integer(size_t value) { return Value(static_cast<Integer>(value)); }

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_undefined() const { return is(Kind::kUndefined); }
  bool is_none() const { return is(Kind::kNone); }
  bool is_text() const { return is(Kind::kText); }
  bool is_dict() const { return is(Kind::kDict); }
  bool is_list_or_tuple() const { return is(Kind::kList); }
  bool is_integral() const { return is(Kind::kBool) || is(Kind::kInteger); }  // True is 1
  bool is_number() const { return is_integral() || is(Kind::kFloat); }

  // Only for values of that kind.
  const Undefined& undefined() const { return std::get<Undefined>(data_); }
  bool boolean() const { return std::get<bool>(data_); }
  double number() const { return std::get<double>(data_); }
  const TextPtr& text() const { return std::get<TextPtr>(data_); }
  const List& list() const { return *std::get<ListPtr>(data_); }
  const ListPtr& list_ptr() const { return std::get<ListPtr>(data_); }
  const Dict& dict() const { return *std::get<DictPtr>(data_); }
  const DictPtr& dict_ptr() const { return std::get<DictPtr>(data_); }
  Object& object() const { return *std::get<Object*>(data_); }

  // Only for integers and bools.
  Integer integral() const {
    return is(Kind::kBool) ? Integer{boolean()} : std::get<Integer>(data_);
  }

  // The object if it is of that class, else null.
  template <class T>
  T* as() const {
    return is(Kind::kObject) ? dynamic_cast<T*>(&object()) : nullptr;
  }

  // Numbers, bools and none have one too: their printed text gets it.
  Origin origin() const { return origin_; }
  Value with_origin(Origin origin) && {
    origin_ = origin;
    return std::move(*this);
  }

 private:
  std::variant<Undefined, None, bool, Integer, double, TextPtr, ListPtr, DictPtr, Object*> data_;
  Origin origin_ = Origin::kTemplate;
};

// The size of a value, with shared parts counted at every occurrence: a few lists within lists can
// be endless to compare or to print.
struct Extent {
  int depth = 0;
  uint64_t weight = 1;
};

enum class ListKind : uint8_t {
  kList,
  kTuple,
  kGroup,  // a result of groupby: a tuple whose parts are also the attributes `grouper` and `list`
};

class List {
 public:
  List(std::vector<Value> items, ListKind kind, Origin origin, Extent extent)
      : items_(std::move(items)), extent_(extent), kind_(kind), origin_(origin) {}

  const std::vector<Value>& items() const { return items_; }
  bool is_tuple() const { return kind_ != ListKind::kList; }
  ListKind kind() const { return kind_; }
  Origin origin() const { return origin_; }  // the origin of its printed brackets
  const Extent& extent() const { return extent_; }

 private:
  std::vector<Value> items_;
  Extent extent_;
  ListKind kind_;
  Origin origin_;
};

// In the order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  // `entries` have hashable keys, each once (Runtime::dict ensures it).
  Dict(std::vector<Entry> entries, Origin origin, Extent extent);

  const std::vector<Entry>& entries() const { return entries_; }
  Origin origin() const { return origin_; }
  const Extent& extent() const { return extent_; }

  // Null if there is none. The key must be hashable.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;

 private:
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // a hash table with open addressing; empty for small dicts
  Extent extent_;
  Origin origin_;
};

// The arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<TextPtr, Value>> named;
};

// Iterates over something once. next() returns false at the end; it may throw Failure.
class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool next(Value& value) = 0;
};

// A value that is neither data nor text: functions, namespaces, loops, generators. Owned by the
// Runtime. Functions may throw Failure.
class Object {
 public:
  virtual ~Object() = default;

  virtual const char* type_name() const = 0;       // in Python
  virtual void print(Runtime&, TextBuilder& out);  // str() and repr()
  virtual bool truth() { return true; }

  // Returns whether there is such an attribute: obj.name and obj['name'].
  virtual bool attribute(Runtime&, std::string_view name, Value& value);

  virtual bool callable() const { return false; }
  virtual Value call(Runtime&, Arguments&);

  virtual std::unique_ptr<Iterator> iterate(Runtime&);  // null if it cannot be iterated over
  virtual bool has_length() const { return false; }
  virtual int64_t length() { return 0; }
  virtual bool item(Runtime&, const Value& /*index*/, Value& /*value*/) { return false; }
  virtual bool is_sequence() const { return false; }  // length and items by index
};

// --- operations of Python on all values ---------------------------------------------------------

const char* type_name(const Value& value);
Extent extent_of(const Value& value);
bool truth(const Value& value);
bool equals(const Value& a, const Value& b);
bool is_hashable(const Value& value);
uint64_t hash_of(const Value& value);

// a < b; fails for values that have no order.
bool less(const Value& a, const Value& b);

// "'x' is undefined", "'dict' has no attribute 'y'".
std::string describe(const Undefined& undefined);

}  // namespace windrow::jinja
