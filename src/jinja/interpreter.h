// The interpreter: walks the tree of a template and writes text. One per rendering.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/runtime.h"

namespace windrow::jinja {

// The variables of a loop's turn, a macro's call, a block. Those outside show through.
struct Scope {
  explicit Scope(Scope* outer) : parent(outer) {}

  Scope* parent;
  bool is_captured = false;  // a macro refers to it, so it stays as long as the rendering
  std::vector<std::pair<NameId, Value>> variables;

  const Value* find(NameId id) const;
  void set(NameId id, Value value);
};

class Interpreter {
 public:
  Interpreter(const Tree& tree, Runtime& runtime);

  // Renders the whole template. Throws Failure.
  TextPtr run(const boost::json::object& variables);

  // Where in the source it is, for the error.
  size_t offset() const { return offset_; }

  Runtime& runtime() { return runtime_; }

  // --- for loops and macros, which call back

  // A body with a scope of its own inside `parent`, that already has `variables`; what it writes.
  TextPtr render_body(const Body& body, std::unique_ptr<Scope> scope);
  // The turns of a recursive loop over something else.
  TextPtr render_loop(const For& loop, const Value& iterable, int depth, Scope* parent);
  bool meets_condition(const For& loop, const Value& item, Scope* parent);
  Value evaluate_in(const Expression& expression, Scope& scope);

 private:
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };

  class Within;       // the scope of what is executed, for as long as it lives
  class Redirection;  // of what is written

  // --- statements
  Flow execute(const Body& body);
  Flow execute(const Statement& statement);
  Flow execute_scoped(const Body& body);
  Flow execute_if(const If& node);
  void execute_for(const For& loop, const Value& iterable, int depth, Scope* parent);
  Flow execute_set_block(const SetBlock& node);
  Flow execute_filter_block(const FilterBlock& node);
  Flow execute_with(const With& node);
  void execute_call_block(const CallBlock& node);
  void assign(const Target& target, const Value& value, Scope& scope);
  void keep(std::unique_ptr<Scope> scope);
  static void capture(Scope* from);
  void write(const Value& value);

  // --- expressions (evaluate.cc)
  Value evaluate(const Expression& expression);
  Value evaluate_name(const Name& name);
  Value evaluate_items(const Items& node);
  Value evaluate_dict(const DictItems& node);
  Value evaluate_compare(const Compare& node);
  Value evaluate_concat(const Items& node);
  Value evaluate_item(const Item& node);
  Value evaluate_call(const Call& node, const Value* caller);
  Value evaluate_filter(const Filter& node, const Value* block);
  Value evaluate_test(const Test& node);
  Arguments evaluate_arguments(const CallArguments& node, const Value* caller = nullptr);
  std::vector<Value> evaluate_all(const Expressions& nodes);
  bool compare(Comparison comparison, const Value& a, const Value& b);

  // Errors from here on are there.
  void at(const Expression& expression) { offset_ = expression.offset; }

  const Tree& tree_;
  Runtime& runtime_;
  TextBuilder* out_ = nullptr;
  Scope* scope_ = nullptr;
  size_t offset_ = 0;
  std::vector<std::unique_ptr<Scope>> captured_;
};

}  // namespace windrow::jinja
