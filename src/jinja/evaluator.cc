#include "jinja/evaluator.h"

#include "jinja/attributes.h"
#include "jinja/failure.h"
#include "jinja/number.h"
#include "jinja/runtime.h"

namespace windrow::jinja {

Value Evaluator::evaluate(const Expression& expression) {
  runtime_.budget.spend(1);
  runtime_.budget.check_stack();
  switch (expression.kind) {
    case Expression::Kind::kConstant:
      return static_cast<const Constant&>(expression).value;
    case Expression::Kind::kName:
      return evaluate_name(static_cast<const Name&>(expression));
    case Expression::Kind::kList:
    case Expression::Kind::kTuple:
      return evaluate_items(static_cast<const Items&>(expression));
    case Expression::Kind::kDict:
      return evaluate_dict(static_cast<const DictItems&>(expression));
    case Expression::Kind::kNot:
      return Value(!runtime_.condition(evaluate(*static_cast<const Unary&>(expression).operand)));
    case Expression::Kind::kNegate:
    case Expression::Kind::kPositive: {
      const Value operand = evaluate(*static_cast<const Unary&>(expression).operand);
      at(expression);
      return expression.kind == Expression::Kind::kNegate ? negate(runtime_, operand)
                                                          : positive(runtime_, operand);
    }
    case Expression::Kind::kBinary: {
      const auto& node = static_cast<const Binary&>(expression);
      const Value left = evaluate(*node.left);
      const Value right = evaluate(*node.right);
      at(node);
      return binary(runtime_, node.op, left, right);
    }
    case Expression::Kind::kAnd: {
      const auto& node = static_cast<const Binary&>(expression);
      Value left = evaluate(*node.left);
      return runtime_.condition(left) ? evaluate(*node.right) : left;
    }
    case Expression::Kind::kOr: {
      const auto& node = static_cast<const Binary&>(expression);
      Value left = evaluate(*node.left);
      return runtime_.condition(left) ? left : evaluate(*node.right);
    }
    case Expression::Kind::kCompare:
      return evaluate_compare(static_cast<const Compare&>(expression));
    case Expression::Kind::kConcat:
      return evaluate_concat(static_cast<const Items&>(expression));
    case Expression::Kind::kConditional: {
      const auto& node = static_cast<const Conditional&>(expression);
      if (runtime_.condition(evaluate(*node.condition))) return evaluate(*node.then);
      return node.otherwise ? evaluate(*node.otherwise) : Value(Undefined{});
    }
    case Expression::Kind::kAttribute: {
      const auto& node = static_cast<const Attribute&>(expression);
      const Value object = evaluate(*node.object);
      at(node);
      return get_attribute(runtime_, object, node.name);
    }
    case Expression::Kind::kItem:
      return evaluate_item(static_cast<const Item&>(expression));
    case Expression::Kind::kSlice:
      fail_at(expression.offset, "a slice is only possible alone in brackets");
    case Expression::Kind::kCall:
      return evaluate_call(static_cast<const Call&>(expression), nullptr);
    case Expression::Kind::kFilter:
      return evaluate_filter(static_cast<const Filter&>(expression), nullptr);
    case Expression::Kind::kTest:
      return evaluate_test(static_cast<const Test&>(expression));
  }
  return Value();
}

Value Evaluator::evaluate_name(const Name& name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    runtime_.budget.spend(scope->variables.size() / 32);
    if (const Value* value = scope->find(name.id)) return *value;
  }
  return Value(Undefined{.name = name.text});
}

std::vector<Value> Evaluator::evaluate_all(const Expressions& nodes) {
  std::vector<Value> values;
  values.reserve(nodes.size());
  for (const ExpressionPtr& node : nodes)
    values.push_back(evaluate(*node));
  return values;
}

Value Evaluator::evaluate_items(const Items& node) {
  std::vector<Value> values = evaluate_all(node.items);
  at(node);
  const bool is_tuple = node.kind == Expression::Kind::kTuple;
  return runtime_.list(std::move(values), is_tuple ? ListKind::kTuple : ListKind::kList);
}

Value Evaluator::evaluate_dict(const DictItems& node) {
  std::vector<Dict::Entry> entries;
  entries.reserve(node.items.size());
  for (const auto& [key, value] : node.items) {
    Value evaluated = evaluate(*key);
    entries.emplace_back(std::move(evaluated), evaluate(*value));
  }
  at(node);
  return runtime_.dict(std::move(entries));
}

bool Evaluator::compare(Comparison comparison, const Value& a, const Value& b) {
  const bool numbers = a.is_number() && b.is_number();
  switch (comparison) {
    case Comparison::kEqual:
      return runtime_.equal(a, b);
    case Comparison::kNotEqual:
      return !runtime_.equal(a, b);
    case Comparison::kLess:
      return runtime_.is_less(a, b);
    case Comparison::kGreater:
      return runtime_.is_less(b, a);
    case Comparison::kLessEqual:
      if (numbers) return compare_numbers(a, b) <= 0;
      return runtime_.is_less(a, b) || runtime_.equal(a, b);
    case Comparison::kGreaterEqual:
      if (numbers) return compare_numbers(b, a) <= 0;
      return runtime_.is_less(b, a) || runtime_.equal(a, b);
    case Comparison::kIn:
      return contains(runtime_, b, a);
    case Comparison::kNotIn:
      return !contains(runtime_, b, a);
  }
  return false;
}

Value Evaluator::evaluate_compare(const Compare& node) {
  Value left = evaluate(*node.first);
  for (const auto& [comparison, expression] : node.rest) {
    Value right = evaluate(*expression);
    at(node);
    runtime_.check_defined(left);
    runtime_.check_defined(right);
    if (!compare(comparison, left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Evaluator::evaluate_concat(const Items& node) {
  const std::vector<Value> values = evaluate_all(node.items);
  at(node);
  TextBuilder out(runtime_.budget);
  for (const Value& value : values)
    append_text(runtime_, out, value);
  return Value(out.finish());
}

Value Evaluator::evaluate_item(const Item& node) {
  const Value object = evaluate(*node.object);
  if (node.index->kind != Expression::Kind::kSlice) {
    const Value index = evaluate(*node.index);
    at(node);
    return get_item(runtime_, object, index);
  }
  const auto& slice = static_cast<const Slice&>(*node.index);
  const auto part = [this](const ExpressionPtr& expression) {
    return expression ? evaluate(*expression) : Value(None{});
  };
  const Value start = part(slice.start);
  const Value stop = part(slice.stop);
  const Value step = part(slice.step);
  at(node);
  return get_slice(runtime_, object, start, stop, step);
}

Arguments Evaluator::evaluate_arguments(const CallArguments& node, const Value* caller) {
  Arguments arguments;
  arguments.positional = evaluate_all(node.positional);
  for (const auto& [name, expression] : node.named) {
    if (caller != nullptr && name->bytes() == "caller") fail("'caller' is given twice");
    arguments.named.emplace_back(name, evaluate(*expression));
  }
  if (caller != nullptr) {
    arguments.named.emplace_back(names_.all()[Names::kCaller], *caller);
  }
  if (node.list) {
    for (Value& value : runtime_.collect(evaluate(*node.list))) {
      arguments.positional.push_back(std::move(value));
    }
  }
  if (node.dict) {
    const Value dict = evaluate(*node.dict);
    if (!dict.is_dict()) fail("'{}' after ** is not a mapping", type_name(dict));
    for (const auto& [key, value] : dict.dict().entries()) {
      if (!key.is_text()) fail("the names of arguments must be strings");
      runtime_.budget.spend(1 + arguments.named.size());
      for (const auto& given : arguments.named) {
        if (given.first->bytes() == key.text()->bytes()) {
          fail("the argument '{}' is given twice", key.text()->bytes());
        }
      }
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

Value Evaluator::evaluate_call(const Call& node, const Value* caller) {
  const Value callee = evaluate(*node.callee);
  Arguments arguments = evaluate_arguments(node.arguments, caller);
  at(node);
  return runtime_.call(callee, arguments);
}

Value Evaluator::evaluate_filter(const Filter& node, const Value* block) {
  Value input;
  if (node.input && node.input->kind == Expression::Kind::kFilter) {
    input = evaluate_filter(static_cast<const Filter&>(*node.input), block);
  } else {
    input = node.input ? evaluate(*node.input) : *block;
  }
  Arguments arguments = evaluate_arguments(node.arguments);
  at(node);
  runtime_.budget.check_stack();
  runtime_.budget.spend(2);
  if (node.function == nullptr) fail("there is no filter '{}'", node.name);
  return node.function(runtime_, input, arguments);
}

Value Evaluator::evaluate_test(const Test& node) {
  const Value subject = evaluate(*node.subject);
  Arguments arguments = evaluate_arguments(node.arguments);
  at(node);
  if (node.function == nullptr) fail("there is no test '{}'", node.name);
  return Value(node.function(runtime_, subject, arguments));
}

}  // namespace windrow::jinja
