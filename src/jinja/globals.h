// The global functions of templates: range, dict, namespace, cycler, joiner, raise_exception and
// strftime_now.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/runtime.h"
#include "jinja/value.h"

namespace windrow::jinja {

// Nothing if there is none of that name.
std::optional<Value> find_global(Runtime& runtime, std::string_view name);

// The only object whose attributes can be assigned: set ns.x = 1.
class Namespace final : public Object {
 public:
  void set(Runtime& runtime, const TextPtr& name, const Value& value);

  const char* type_name() const override { return "Namespace"; }
  void print(Runtime& runtime, TextBuilder& out) override;
  bool attribute(Runtime& runtime, std::string_view name, Value& value) override;

 private:
  std::vector<std::pair<TextPtr, Value>> values_;
};

}  // namespace windrow::jinja
