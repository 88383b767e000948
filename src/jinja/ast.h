// The syntax tree of a template. Immutable once parsed; shared by all renderings, on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jinja/number.h"
#include "jinja/value.h"

namespace windrow::jinja {

// Names of variables are small numbers inside a template.
using NameId = uint32_t;

// Filters and tests get what they are applied to, and the arguments in parentheses. Throw Failure.
using FilterFunction = Value (*)(Runtime&, const Value& input, Arguments&);
using TestFunction = bool (*)(Runtime&, const Value& subject, Arguments&);

struct Expression {
  enum class Kind : uint8_t {
    kConstant,
    kName,
    kList,
    kTuple,
    kDict,
    kNot,
    kNegate,
    kPositive,
    kBinary,
    kAnd,
    kOr,
    kCompare,
    kConcat,
    kConditional,
    kAttribute,
    kItem,
    kSlice,
    kCall,
    kFilter,
    kTest
  };

  Expression(Kind expression_kind, size_t at) : kind(expression_kind), offset(at) {}
  virtual ~Expression() = default;

  Kind kind;
  int depth = 1;  // of the subtree
  size_t offset;  // in the source
};

using ExpressionPtr = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionPtr>;

struct Constant final : Expression {
  Constant(size_t at, Value constant)
      : Expression(Kind::kConstant, at), value(std::move(constant)) {}
  Value value;
};

struct Name final : Expression {
  Name(size_t at, NameId name_id, TextPtr name_text)
      : Expression(Kind::kName, at), id(name_id), text(std::move(name_text)) {}
  NameId id;
  TextPtr text;
};

// kList, kTuple, kConcat
struct Items final : Expression {
  using Expression::Expression;
  Expressions items;
};

struct DictItems final : Expression {
  explicit DictItems(size_t at) : Expression(Kind::kDict, at) {}
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};

// kNot, kNegate, kPositive
struct Unary final : Expression {
  Unary(Kind unary_kind, size_t at, ExpressionPtr of)
      : Expression(unary_kind, at), operand(std::move(of)) {}
  ExpressionPtr operand;
};

// kBinary, kAnd, kOr
struct Binary final : Expression {
  Binary(Kind binary_kind, size_t at, ExpressionPtr a, ExpressionPtr b)
      : Expression(binary_kind, at), left(std::move(a)), right(std::move(b)) {}
  Operator op = Operator::kAdd;  // only for kBinary
  ExpressionPtr left;
  ExpressionPtr right;
};

enum class Comparison : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Compare final : Expression {
  explicit Compare(size_t at) : Expression(Kind::kCompare, at) {}
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};

struct Conditional final : Expression {
  explicit Conditional(size_t at) : Expression(Kind::kConditional, at) {}
  ExpressionPtr condition;
  ExpressionPtr then;
  ExpressionPtr otherwise;  // may be null
};

struct Attribute final : Expression {
  explicit Attribute(size_t at) : Expression(Kind::kAttribute, at) {}
  ExpressionPtr object;
  TextPtr name;
};

// Only inside of kItem.
struct Slice final : Expression {
  explicit Slice(size_t at) : Expression(Kind::kSlice, at) {}
  ExpressionPtr start;  // each may be null
  ExpressionPtr stop;
  ExpressionPtr step;
};

struct Item final : Expression {
  explicit Item(size_t at) : Expression(Kind::kItem, at) {}
  ExpressionPtr object;
  ExpressionPtr index;
};

struct CallArguments {
  Expressions positional;
  std::vector<std::pair<TextPtr, ExpressionPtr>> named;
  ExpressionPtr list;  // *list; may be null
  ExpressionPtr dict;  // **dict; may be null
};

struct Call final : Expression {
  explicit Call(size_t at) : Expression(Kind::kCall, at) {}
  ExpressionPtr callee;
  CallArguments arguments;
};

struct Filter final : Expression {
  explicit Filter(size_t at) : Expression(Kind::kFilter, at) {}
  ExpressionPtr input;  // null in filter blocks: the text of the block
  std::string name;
  FilterFunction function = nullptr;  // null: no such filter, an error when it is reached
  CallArguments arguments;
};

struct Test final : Expression {
  explicit Test(size_t at) : Expression(Kind::kTest, at) {}
  ExpressionPtr subject;
  std::string name;
  TestFunction function = nullptr;
  CallArguments arguments;
};

// The left side of an assignment.
struct Target {
  size_t offset = 0;
  NameId id = 0;
  TextPtr name;
  TextPtr attribute;          // not null: this attribute of the namespace `id`
  std::vector<Target> parts;  // not empty, or is_tuple: the value is unpacked
  bool is_tuple = false;
};

struct Statement {
  enum class Kind : uint8_t {
    kData,
    kPrint,
    kIf,
    kFor,
    kSet,
    kSetBlock,
    kMacro,
    kCallBlock,
    kFilterBlock,
    kWith,
    kGeneration,
    kBreak,
    kContinue
  };

  Statement(Kind statement_kind, size_t at) : kind(statement_kind), offset(at) {}
  virtual ~Statement() = default;

  Kind kind;
  size_t offset;
};

using StatementPtr = std::unique_ptr<const Statement>;
using Body = std::vector<StatementPtr>;

struct Data final : Statement {
  Data(size_t at, TextPtr data) : Statement(Kind::kData, at), text(std::move(data)) {}
  TextPtr text;
};

struct Print final : Statement {
  Print(size_t at, ExpressionPtr printed)
      : Statement(Kind::kPrint, at), expression(std::move(printed)) {}
  ExpressionPtr expression;
};

struct If final : Statement {
  explicit If(size_t at) : Statement(Kind::kIf, at) {}
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};

struct For final : Statement {
  explicit For(size_t at) : Statement(Kind::kFor, at) {}
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  // may be null
  bool recursive = false;
  bool uses_loop = false;
  Body body;
  Body otherwise;
};

struct Set final : Statement {
  explicit Set(size_t at) : Statement(Kind::kSet, at) {}
  Target target;
  ExpressionPtr value;
};

struct SetBlock final : Statement {
  explicit SetBlock(size_t at) : Statement(Kind::kSetBlock, at) {}
  Target target;
  ExpressionPtr filter;  // a chain of Filter, or null
  Body body;
};

// The parameters and the body of a macro or a call block.
struct Signature {
  struct Parameter {
    NameId id;
    TextPtr name;
    ExpressionPtr preset;  // may be null
  };
  std::vector<Parameter> parameters;
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
  Body body;
};

struct MacroDefinition final : Statement {
  explicit MacroDefinition(size_t at) : Statement(Kind::kMacro, at) {}
  NameId id = 0;
  TextPtr name;
  Signature signature;
};

struct CallBlock final : Statement {
  explicit CallBlock(size_t at) : Statement(Kind::kCallBlock, at) {}
  Signature signature;
  ExpressionPtr call;  // a Call
};

struct FilterBlock final : Statement {
  explicit FilterBlock(size_t at) : Statement(Kind::kFilterBlock, at) {}
  ExpressionPtr filter;
  Body body;
};

struct With final : Statement {
  explicit With(size_t at) : Statement(Kind::kWith, at) {}
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body;
};

// {% generation %}: marks answers of the model, for training. Here it is only a scope.
struct Generation final : Statement {
  explicit Generation(size_t at) : Statement(Kind::kGeneration, at) {}
  Body body;
};

// kBreak, kContinue
struct Jump final : Statement {
  using Statement::Statement;
};

// The names of variables in a template, by number.
class Names {
 public:
  Names() {
    for (const std::string_view name : {"loop", "caller", "varargs", "kwargs"})
      id_of(name);
  }

  NameId id_of(std::string_view name) {
    const auto [at, is_new] = ids_.try_emplace(std::string(name), static_cast<NameId>(all_.size()));
    if (is_new) all_.push_back(std::make_shared<const Text>(at->first, Origin::kTemplate));
    return at->second;
  }
  const std::vector<TextPtr>& all() const { return all_; }

  // Every template has these.
  static constexpr NameId kLoop = 0;
  static constexpr NameId kCaller = 1;
  static constexpr NameId kVarargs = 2;
  static constexpr NameId kKwargs = 3;

 private:
  std::vector<TextPtr> all_;
  std::unordered_map<std::string, NameId> ids_;
};

struct Tree {
  Body body;
  Names names;
};

}  // namespace windrow::jinja
