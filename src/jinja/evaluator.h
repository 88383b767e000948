// Evaluator: computes expressions of a template. It holds the two things that expressions depend on
// besides the tree: the innermost scope, and the position in the source for error messages. One per
// rendering, used by the thread that renders. All functions throw Failure.
#pragma once

#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/runtime.h"
#include "jinja/scope.h"

namespace windrow::jinja {

class Evaluator {
 public:
  // Both outlive this.
  Evaluator(const Names& names, Runtime& runtime) : names_(names), runtime_(runtime) {}

  // Enters a scope for as long as it lives.
  class Within {
   public:
    Within(Evaluator& evaluator, Scope* scope)
        : evaluator_(evaluator), outer_(std::exchange(evaluator.scope_, scope)) {}
    ~Within() { evaluator_.scope_ = outer_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Evaluator& evaluator_;
    Scope* outer_;
  };

  Scope* scope() const { return scope_; }

  // Where in the source the rendering is.
  size_t offset() const { return offset_; }
  void set_offset(size_t offset) { offset_ = offset; }

  Value evaluate(const Expression& expression);

  // `caller`: what the call gets as its argument `caller`, from a call block; null: nothing.
  Value evaluate_call(const Call& node, const Value* caller);

  // `block`: the text of a filter block, the input of the first filter of the chain; null if the
  // chain begins with an expression.
  Value evaluate_filter(const Filter& node, const Value* block);

 private:
  Value evaluate_name(const Name& name);
  Value evaluate_items(const Items& node);
  Value evaluate_dict(const DictItems& node);
  Value evaluate_compare(const Compare& node);
  Value evaluate_concat(const Items& node);
  Value evaluate_item(const Item& node);
  Value evaluate_test(const Test& node);
  Arguments evaluate_arguments(const CallArguments& node, const Value* caller = nullptr);
  std::vector<Value> evaluate_all(const Expressions& nodes);
  bool compare(Comparison comparison, const Value& a, const Value& b);

  // Errors are reported at this expression from here on.
  void at(const Expression& expression) { offset_ = expression.offset; }

  const Names& names_;
  Runtime& runtime_;
  Scope* scope_ = nullptr;
  size_t offset_ = 0;
};

}  // namespace windrow::jinja
