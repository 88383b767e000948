// Loop and Macro: objects of a template that run a part of it when they are called or iterated
// over, through a BodyRenderer. Objects of the Runtime; used by its thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/runtime.h"
#include "jinja/scope.h"
#include "jinja/value.h"

namespace windrow::jinja {

// The variable `loop` in the body of a for loop.
class Loop final : public Object {
 public:
  Loop(BodyRenderer& renderer, Runtime& runtime, const For& node, Value iterable,
       std::unique_ptr<Iterator> items, int depth, Scope* parent);

  // Makes the next item the current one. Returns false if there is none.
  bool advance(Value& item);

  const char* type_name() const override { return "LoopContext"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool truth() override { return length() > 0; }
  bool attribute(Runtime& runtime, std::string_view name, Value& value) override;
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override;
  // The remaining iterations as pairs (item, loop); they are consumed.
  std::unique_ptr<Iterator> iterate(Runtime& runtime) override;
  bool has_length() const override { return true; }
  int64_t length() override;

 private:
  friend class LoopMethod;

  const Value* peek();
  Value cycle(const Arguments& arguments) const;
  Value changed(Runtime& runtime, const Arguments& arguments);

  BodyRenderer& renderer_;
  Runtime& runtime_;
  const For& node_;
  Value iterable_;
  std::unique_ptr<Iterator> items_;
  std::vector<Value> ahead_;  // items read ahead, the next one last
  std::optional<int64_t> length_;
  int64_t index0_ = -1;
  Value previous_;
  Value current_;
  std::optional<std::vector<Value>> last_changed_;
  int depth_;
  Scope* parent_;
};

// The items that meet the loop's condition, tested one by one on demand.
std::unique_ptr<Iterator> filtered_items(BodyRenderer& renderer, Runtime& runtime, const For& node,
                                         std::unique_ptr<Iterator> items, Scope* parent);

// A macro, or the `caller` of a call block, which is one without a name.
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
