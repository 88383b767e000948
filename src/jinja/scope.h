// Scopes of variables, and what loops and macros ask of the interpreter that made them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/value.h"

namespace windrow::jinja {

// The variables of one turn of a loop, one call of a macro, or one block. Names that are not in it
// are looked up in `parent`.
struct Scope {
  explicit Scope(Scope* outer) : parent(outer) {}

  Scope* parent;
  bool is_captured = false;  // a macro or loop refers to it, so it lives as long as the rendering
  std::vector<std::pair<NameId, Value>> variables;

  // Null if it is not in this scope.
  const Value* find(NameId id) const {
    for (const auto& [name, value] : variables) {
      if (name == id) return &value;
    }
    return nullptr;
  }

  void set(NameId id, Value value) {
    for (auto& [name, old] : variables) {
      if (name == id) {
        old = std::move(value);
        return;
      }
    }
    variables.emplace_back(id, std::move(value));
  }
};

// Implemented by the Interpreter, for objects of the template that run parts of it when they are
// called or iterated over. All of these throw Failure.
class BodyRenderer {
 public:
  // Executes `body` in `scope`, which may have variables already. Returns the text it writes.
  virtual TextPtr render_body(const Body& body, std::unique_ptr<Scope> scope) = 0;

  // Runs a recursive loop over another iterable. `depth` counts the loops around it.
  virtual TextPtr render_loop(const For& loop, const Value& iterable, int depth, Scope* parent) = 0;

  // Whether the loop has a turn for `item`. Only for loops with a condition.
  virtual bool meets_condition(const For& loop, const Value& item, Scope* parent) = 0;

  virtual Value evaluate_in(const Expression& expression, Scope& scope) = 0;

 protected:
  ~BodyRenderer() = default;
};

}  // namespace windrow::jinja
