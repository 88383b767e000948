// Function and Method: values that a template can call. Bound: matches arguments with parameters.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/runtime.h"
#include "jinja/value.h"

namespace windrow::jinja {

// Arguments in the order of the parameters. The constructor fails if one is missing, unknown, given
// twice or too many. Refers to the arguments.
class Bound {
 public:
  // An empty name is a parameter that cannot be given by name; the first `required` must be given.
  Bound(const Arguments& arguments, std::string_view function,
        std::initializer_list<std::string_view> names, size_t required);

  bool has(size_t i) const { return values_[i] != nullptr; }
  const Value& operator[](size_t i) const { return *values_[i]; }  // has(i)

  const Value* get(size_t i) const { return values_[i]; }  // null if it was not given
  // Null also if the value is none, which many functions treat as not given.
  const Value* some(size_t i) const {
    return has(i) && !values_[i]->is_none() ? values_[i] : nullptr;
  }
  bool flag(size_t i, bool otherwise) const { return has(i) ? truth(*values_[i]) : otherwise; }
  int64_t integer(size_t i, int64_t otherwise) const;
  const TextPtr& text(size_t i) const;  // fails for anything else

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

using FunctionPointer = Value (*)(Runtime&, Arguments&);

class Function final : public Object {
 public:
  Function(std::string_view name, FunctionPointer function) : name_(name), function_(function) {}
  const char* type_name() const override { return "function"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override {
    return function_(runtime, arguments);
  }

 private:
  std::string_view name_;  // static
  FunctionPointer function_;
};

using MethodPointer = Value (*)(Runtime&, const Value& self, Arguments&);

class Method final : public Object {
 public:
  Method(Value self, std::string_view name, MethodPointer method)
      : self_(std::move(self)), name_(name), method_(method) {}
  const char* type_name() const override { return "builtin_function_or_method"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override {
    return method_(runtime, self_, arguments);
  }

 private:
  Value self_;
  std::string_view name_;  // static
  MethodPointer method_;
};

}  // namespace windrow::jinja
