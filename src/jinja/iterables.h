// The iterables of Python that are no lists: range(), the views of a dict, and generators. Objects
// of a Runtime; used by its thread.
#pragma once

#include "jinja/runtime.h"
#include "jinja/value.h"

namespace windrow::jinja {

// range(stop) or range(start, stop, step). Fails for more than 100,000 numbers, as Jinja2's
// sandbox.
Value make_range(Runtime& runtime, Arguments& arguments);

// The numbers of a range, which are not stored.
class Range final : public Object {
 public:
  Range(int64_t start, int64_t step, int64_t count) : start_(start), step_(step), count_(count) {}

  const char* type_name() const override { return "range"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool truth() override { return count_ > 0; }
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool has_length() const override { return true; }
  int64_t length() override { return count_; }
  bool item(Runtime& runtime, const Value& index, Value& value) override;
  bool is_sequence() const override { return true; }

  Value at(int64_t index) const { return Value::integer(start_ + step_ * index); }
  // A slice of it: a range.
  Value part(Runtime& runtime, int64_t start, int64_t step, int64_t count) const;
  bool equals(const Range& other) const;

 private:
  int64_t start_;
  int64_t step_;
  int64_t count_;
  int64_t stop_shown_ = 0;

  friend Value make_range(Runtime& runtime, Arguments& arguments);
};

// The result of dict.keys(), values() and items(). Can be iterated over any number of times.

class DictView final : public Object {
 public:
  enum class Part : uint8_t { kKeys, kValues, kItems };

  DictView(DictPtr dict, Part part) : dict_(std::move(dict)), part_(part) {}

  const char* type_name() const override;
  void print(Runtime& runtime, TextBuilder& out) override;
  bool truth() override { return length() > 0; }
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool has_length() const override { return true; }
  int64_t length() override { return static_cast<int64_t>(dict_->entries().size()); }

  // All of its values, in the order of the dict.
  std::vector<Value> collect(Runtime& runtime) const;

 private:
  DictPtr dict_;
  Part part_;
};

// The result of generators and reversed(). Can be iterated over once.
class Generator final : public Object {
 public:
  Generator(const char* type, std::unique_ptr<Iterator> items)
      : type_(type), items_(std::move(items)) {}

  const char* type_name() const override { return type_; }
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool next(Runtime& runtime, Value& value);

 private:
  const char* type_;
  std::unique_ptr<Iterator> items_;
  bool running_ = false;
};

}  // namespace windrow::jinja
