#include "jinja/macro.h"

#include <algorithm>
#include <optional>

#include "jinja/failure.h"

namespace windrow::jinja {
namespace {

// Removes the argument of that name and returns it.
std::optional<Value> take_named(Arguments& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& entry) { return entry.first->bytes() == name; });
  if (found == arguments.named.end()) return std::nullopt;
  Value value = found->second;
  arguments.named.erase(found);
  return value;
}

}  // namespace

void Macro::print(Runtime&, TextBuilder& out) {
  out.append(name_ ? fmt::format("<Macro '{}'>", name_->bytes()) : "<Macro anonymous>",
             Origin::kTemplate);
}

bool Macro::attribute(Runtime& runtime, std::string_view name, Value& value) {
  if (name == "name") {
    value = name_ ? Value(name_) : Value(None{});
  } else if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& parameter : signature_.parameters)
      names.emplace_back(parameter.name);
    value = runtime.tuple(std::move(names));
  } else if (name == "catch_kwargs") {
    value = Value(signature_.uses_kwargs);
  } else if (name == "catch_varargs") {
    value = Value(signature_.uses_varargs);
  } else if (name == "caller") {
    value = Value(signature_.uses_caller);
  } else {
    return false;
  }
  return true;
}

Value Macro::call(Runtime& runtime, Arguments& arguments) {
  const std::string_view shown = name_ ? std::string_view(name_->bytes()) : "caller";
  const auto& parameters = signature_.parameters;
  const size_t given = std::min(arguments.positional.size(), parameters.size());
  const auto is_caller = [](const Signature::Parameter& p) { return p.id == Names::kCaller; };
  const bool names_caller = std::any_of(parameters.begin(), parameters.end(), is_caller);

  auto scope = std::make_unique<Scope>(scope_);
  std::vector<const Signature::Parameter*> absent;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    if (i < given) {
      scope->set(parameter.id, arguments.positional[i]);
    } else if (auto value = take_named(arguments, parameter.name->bytes())) {
      scope->set(parameter.id, std::move(*value));
    } else {
      absent.push_back(&parameter);
    }
  }
  if (signature_.uses_caller && !names_caller) {
    auto caller = take_named(arguments, "caller");
    const TextPtr name = std::make_shared<const Text>("caller", Origin::kTemplate);
    scope->set(Names::kCaller,
               caller && !caller->is_none() ? std::move(*caller) : Value(Undefined{.name = name}));
  }
  if (signature_.uses_kwargs) {
    std::vector<Dict::Entry> entries;
    for (auto& [name, value] : arguments.named)
      entries.emplace_back(Value(name), value);
    scope->set(Names::kKwargs, runtime.dict(std::move(entries)));
  } else if (!arguments.named.empty()) {
    fail("the macro '{}' has no parameter '{}'", shown, arguments.named.front().first->bytes());
  }
  if (signature_.uses_varargs) {
    const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(given);
    scope->set(Names::kVarargs,
               runtime.tuple(std::vector<Value>(rest, arguments.positional.end())));
  } else if (arguments.positional.size() > parameters.size()) {
    fail("the macro '{}' takes at most {} arguments, not {}", shown, parameters.size(),
         arguments.positional.size());
  }
  // Defaults see the parameters before them.
  const Budget::Level level(runtime.budget);
  for (const Signature::Parameter* parameter : absent) {
    scope->set(parameter->id, parameter->preset ? renderer_.evaluate_in(*parameter->preset, *scope)
                                                : Value(Undefined{.name = parameter->name}));
  }
  return Value(renderer_.render_body(signature_.body, std::move(scope)));
}

}  // namespace windrow::jinja
