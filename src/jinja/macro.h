// Macro: a macro, or the `caller` of a call block, which is one without a name. An object of the
// Runtime; used by its thread.
#pragma once

#include "jinja/ast.h"
#include "jinja/runtime.h"
#include "jinja/scope.h"
#include "jinja/value.h"

namespace windrow::jinja {

class Macro final : public Object {
 public:
  Macro(BodyRenderer& renderer, const Signature& signature, TextPtr name, Scope* scope)
      : renderer_(renderer), signature_(signature), name_(std::move(name)), scope_(scope) {}

  const char* type_name() const override { return "Macro"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool attribute(Runtime& runtime, std::string_view name, Value& value) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override;

 private:
  BodyRenderer& renderer_;
  const Signature& signature_;
  TextPtr name_;  // null: a caller
  Scope* scope_;  // where it was defined
};

}  // namespace windrow::jinja
