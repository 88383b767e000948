#include "jinja/interpreter.h"

#include "jinja/bodies.h"
#include "jinja/builtins.h"
#include "jinja/failure.h"
#include "jinja/json.h"
#include "jinja/runtime.h"

namespace windrow::jinja {

namespace {

// Keeps `from` and all scopes around it until the end of the rendering.
void capture(Scope* from) {
  for (Scope* scope = from; scope != nullptr && !scope->is_captured; scope = scope->parent)
    scope->is_captured = true;
}

}  // namespace

class Interpreter::Redirection {
 public:
  explicit Redirection(Interpreter& interpreter)
      : interpreter_(interpreter),
        written_(interpreter.runtime_.budget),
        outer_(std::exchange(interpreter.out_, &written_)) {}
  ~Redirection() { interpreter_.out_ = outer_; }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

  TextPtr finish() { return written_.finish(); }

 private:
  Interpreter& interpreter_;
  TextBuilder written_;
  TextBuilder* outer_;
};

Interpreter::Interpreter(const Tree& tree, Runtime& runtime)
    : tree_(tree), runtime_(runtime), evaluator_(tree.names, runtime) {}

TextPtr Interpreter::run(const boost::json::object& variables) {
  Scope globals(nullptr);
  Scope root(&globals);
  // Only names that the template uses: a long conversation may have much else.
  for (NameId id = 0; id < tree_.names.all().size(); ++id) {
    const std::string& name = tree_.names.all()[id]->bytes();
    if (const auto* found = variables.find(name); found != variables.end()) {
      root.set(id, from_json(runtime_, found->value(), name));
    } else if (const auto global = find_global(runtime_, name)) {
      globals.set(id, *global);
    }
  }
  const Evaluator::Within within(evaluator_, &root);
  Redirection redirection(*this);
  execute(tree_.body);
  return redirection.finish();
}

// --- for loops and macros -----------------------------------------------------------------------

TextPtr Interpreter::render_body(const Body& body, std::unique_ptr<Scope> scope) {
  const Budget::Level level(runtime_.budget);
  const size_t offset = evaluator_.offset();
  Redirection redirection(*this);
  {
    const Evaluator::Within within(evaluator_, scope.get());
    execute(body);
  }
  keep_if_captured(std::move(scope));
  evaluator_.set_offset(offset);
  return redirection.finish();
}

TextPtr Interpreter::render_loop(const For& loop, const Value& iterable, int depth, Scope* parent) {
  const Budget::Level level(runtime_.budget);
  Redirection redirection(*this);
  execute_for(loop, iterable, depth, parent);
  return redirection.finish();
}

bool Interpreter::meets_condition(const For& loop, const Value& item, Scope* parent) {
  auto scope = std::make_unique<Scope>(parent);
  assign(loop.target, item, *scope);
  const bool meets = runtime_.condition(evaluate_in(*loop.condition, *scope));
  keep_if_captured(std::move(scope));
  return meets;
}

Value Interpreter::evaluate_in(const Expression& expression, Scope& scope) {
  const Evaluator::Within within(evaluator_, &scope);
  return evaluator_.evaluate(expression);
}

void Interpreter::keep_if_captured(std::unique_ptr<Scope> scope) {
  if (scope->is_captured) captured_.push_back(std::move(scope));
}

// --- statements ---------------------------------------------------------------------------------

Interpreter::Flow Interpreter::execute(const Body& body) {
  runtime_.budget.check_stack();
  for (const StatementPtr& statement : body) {
    const Flow flow = execute(*statement);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
  runtime_.budget.spend(1);
  evaluator_.set_offset(statement.offset);
  switch (statement.kind) {
    case Statement::Kind::kData:
      out_->append(*static_cast<const Data&>(statement).text);
      return Flow::kNormal;
    case Statement::Kind::kPrint:
      write(evaluator_.evaluate(*static_cast<const Print&>(statement).expression));
      return Flow::kNormal;
    case Statement::Kind::kIf:
      return execute_if(static_cast<const If&>(statement));
    case Statement::Kind::kFor: {
      const auto& loop = static_cast<const For&>(statement);
      const Value iterable = evaluator_.evaluate(*loop.iterable);
      if (!loop.recursive) {
        execute_for(loop, iterable, 0, evaluator_.scope());
      } else {
        write(Value(render_loop(loop, iterable, 0, evaluator_.scope())));
      }
      return Flow::kNormal;
    }
    case Statement::Kind::kSet: {
      const auto& set = static_cast<const Set&>(statement);
      assign(set.target, evaluator_.evaluate(*set.value), *evaluator_.scope());
      return Flow::kNormal;
    }
    case Statement::Kind::kSetBlock:
      return execute_set_block(static_cast<const SetBlock&>(statement));
    case Statement::Kind::kMacro: {
      const auto& node = static_cast<const MacroDefinition&>(statement);
      capture(evaluator_.scope());
      evaluator_.scope()->set(node.id, Value(runtime_.make<Macro>(*this, node.signature, node.name,
                                                                  evaluator_.scope())));
      return Flow::kNormal;
    }
    case Statement::Kind::kCallBlock:
      execute_call_block(static_cast<const CallBlock&>(statement));
      return Flow::kNormal;
    case Statement::Kind::kFilterBlock:
      return execute_filter_block(static_cast<const FilterBlock&>(statement));
    case Statement::Kind::kWith:
      return execute_with(static_cast<const With&>(statement));
    case Statement::Kind::kGeneration:
      return execute_scoped(static_cast<const Generation&>(statement).body);
    case Statement::Kind::kBreak:
      return Flow::kBreak;
    case Statement::Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_scoped(const Body& body) {
  auto scope = std::make_unique<Scope>(evaluator_.scope());
  Flow flow = Flow::kNormal;
  {
    const Evaluator::Within within(evaluator_, scope.get());
    flow = execute(body);
  }
  keep_if_captured(std::move(scope));
  return flow;
}

Interpreter::Flow Interpreter::execute_if(const If& node) {
  for (const auto& [condition, body] : node.branches) {
    if (runtime_.condition(evaluator_.evaluate(*condition))) return execute(body);
  }
  return execute(node.otherwise);
}

void Interpreter::execute_for(const For& loop, const Value& iterable, int depth, Scope* parent) {
  const Budget::Level level(runtime_.budget);
  std::unique_ptr<Iterator> items = runtime_.iterate(iterable);
  if (loop.condition) items = filtered_items(*this, runtime_, loop, std::move(items), parent);
  // A `loop` that is stored may use its scope after the loop has ended.
  if (loop.uses_loop && (loop.recursive || loop.condition)) capture(parent);
  Loop* state = nullptr;
  if (loop.uses_loop) {
    state = runtime_.make<Loop>(*this, runtime_, loop, iterable, std::move(items), depth, parent);
  }
  bool completed = false;
  auto scope = std::make_unique<Scope>(parent);
  for (Value item;;) {
    runtime_.budget.spend(1);
    evaluator_.set_offset(loop.offset);
    if (!(state != nullptr ? state->advance(item) : items->next(item))) break;
    if (scope->is_captured) {
      keep_if_captured(std::move(scope));
      scope = std::make_unique<Scope>(parent);
    }
    scope->variables.clear();
    if (state != nullptr) scope->variables.emplace_back(Names::kLoop, Value(state));
    assign(loop.target, item, *scope);
    const Evaluator::Within within(evaluator_, scope.get());
    const Flow flow = execute(loop.body);
    if (flow == Flow::kBreak) break;
    // As in Jinja2: an iteration that `continue` ended does not count for `else`.
    if (flow == Flow::kNormal) completed = true;
  }
  keep_if_captured(std::move(scope));
  if (!completed && !loop.otherwise.empty()) {
    const Evaluator::Within within(evaluator_, parent);
    execute_scoped(loop.otherwise);
  }
}

Interpreter::Flow Interpreter::execute_set_block(const SetBlock& node) {
  Redirection redirection(*this);
  const Flow flow = execute_scoped(node.body);
  if (flow != Flow::kNormal) return flow;
  Value value(redirection.finish());
  if (node.filter)
    value = evaluator_.evaluate_filter(static_cast<const Filter&>(*node.filter), &value);
  assign(node.target, value, *evaluator_.scope());
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_filter_block(const FilterBlock& node) {
  Value value;
  {
    Redirection redirection(*this);
    const Flow flow = execute_scoped(node.body);
    if (flow != Flow::kNormal) return flow;
    value = Value(redirection.finish());
  }
  const Value filtered =
      evaluator_.evaluate_filter(static_cast<const Filter&>(*node.filter), &value);
  // Jinja2 requires a string here and does not convert.
  if (!filtered.is_text())
    fail("the filter of a block made '{}', not a string", type_name(filtered));
  write(filtered);
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_with(const With& node) {
  auto scope = std::make_unique<Scope>(evaluator_.scope());
  // The values see what is outside, not each other.
  for (const auto& [target, expression] : node.assignments) {
    assign(target, evaluator_.evaluate(*expression), *scope);
  }
  Flow flow = Flow::kNormal;
  {
    const Evaluator::Within within(evaluator_, scope.get());
    flow = execute(node.body);
  }
  keep_if_captured(std::move(scope));
  return flow;
}

void Interpreter::execute_call_block(const CallBlock& node) {
  capture(evaluator_.scope());
  const Value caller(runtime_.make<Macro>(*this, node.signature, nullptr, evaluator_.scope()));
  write(evaluator_.evaluate_call(static_cast<const Call&>(*node.call), &caller));
}

void Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
  if (target.attribute) {
    const Value* found = nullptr;
    for (const Scope* at = &scope; at != nullptr && found == nullptr; at = at->parent) {
      found = at->find(target.id);
    }
    auto* space = found == nullptr ? nullptr : found->as<Namespace>();
    if (space == nullptr) {
      fail_at(target.offset, "'{}' is not a namespace: its attribute '{}' cannot be set",
              target.name->bytes(), target.attribute->bytes());
    }
    space->set(runtime_, target.attribute, value);
    return;
  }
  if (!target.is_tuple) {
    runtime_.budget.spend(scope.variables.size() / 32);
    scope.set(target.id, value);
    return;
  }
  const std::vector<Value> parts = runtime_.collect(value);
  if (parts.size() != target.parts.size()) {
    fail_at(target.offset, "cannot unpack {} values into {} names", parts.size(),
            target.parts.size());
  }
  for (size_t i = 0; i < parts.size(); ++i)
    assign(target.parts[i], parts[i], scope);
}

void Interpreter::write(const Value& value) {
  append_text(runtime_, *out_, value);
}

}  // namespace windrow::jinja
