// Interpreter: executes the statements of a template and writes its text. One per rendering, used
// by the thread that renders.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <vector>

#include "jinja/ast.h"
#include "jinja/evaluator.h"
#include "jinja/runtime.h"
#include "jinja/scope.h"

namespace windrow::jinja {

class Interpreter final : public BodyRenderer {
 public:
  // Both outlive this.
  Interpreter(const Tree& tree, Runtime& runtime);

  // Renders the whole template. Throws Failure.
  TextPtr run(const boost::json::object& variables);

  // Where in the source the rendering is, or ended: for error messages.
  size_t offset() const { return evaluator_.offset(); }

 private:
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };

  class Redirection;  // collects the written text for as long as it lives

  // BodyRenderer:
  TextPtr render_body(const Body& body, std::unique_ptr<Scope> scope) override;
  TextPtr render_loop(const For& loop, const Value& iterable, int depth, Scope* parent) override;
  bool meets_condition(const For& loop, const Value& item, Scope* parent) override;
  Value evaluate_in(const Expression& expression, Scope& scope) override;

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
  void keep_if_captured(std::unique_ptr<Scope> scope);
  void write(const Value& value);

  const Tree& tree_;
  Runtime& runtime_;
  Evaluator evaluator_;
  TextBuilder* out_ = nullptr;
  std::vector<std::unique_ptr<Scope>> captured_;
};

}  // namespace windrow::jinja
