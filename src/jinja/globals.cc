#include "jinja/builtins.h"

#include <algorithm>
#include <array>

#include "jinja/civil_time.h"
#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/iterables.h"
#include "jinja/number.h"
#include "jinja/runtime.h"

namespace windrow::jinja {
namespace {

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}

  const char* type_name() const override { return "Cycler"; }

  bool attribute(Runtime& runtime, std::string_view name, Value& value) override {
    if (name == "current") {
      value = items_[at_];
      return true;
    }
    if (name == "next") {
      value = Value(runtime.make<Method>(Value(this), "next",
                                         [](Runtime&, const Value& self, Arguments& arguments) {
                                           const Bound bound(arguments, "next", {}, 0);
                                           auto& cycler = *self.as<Cycler>();
                                           Value current = cycler.items_[cycler.at_];
                                           cycler.at_ = (cycler.at_ + 1) % cycler.items_.size();
                                           return current;
                                         }));
      return true;
    }
    if (name == "reset") {
      value = Value(runtime.make<Method>(Value(this), "reset",
                                         [](Runtime&, const Value& self, Arguments& arguments) {
                                           const Bound bound(arguments, "reset", {}, 0);
                                           self.as<Cycler>()->at_ = 0;
                                           return Value(None{});
                                         }));
      return true;
    }
    return false;
  }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  const char* type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override {
    const Bound bound(arguments, "joiner", {}, 0);
    if (std::exchange(used_, true)) return separator_;
    return runtime.text("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

std::vector<Dict::Entry> dict_entries(Runtime& runtime, std::string_view function,
                                      const Arguments& arguments) {
  if (arguments.positional.size() > 1) fail("'{}' takes at most one argument", function);
  std::vector<Dict::Entry> entries;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is_dict()) {
      entries = from.dict().entries();
    } else {
      for (const Value& pair : runtime.collect(from)) {
        std::vector<Value> parts = runtime.collect(pair);
        if (parts.size() != 2) fail("'{}' needs pairs of a key and a value", function);
        entries.emplace_back(std::move(parts[0]), std::move(parts[1]));
      }
    }
  }
  for (const auto& [name, value] : arguments.named)
    entries.emplace_back(Value(name), value);
  return entries;
}

Value make_dict(Runtime& runtime, Arguments& arguments) {
  return runtime.dict(dict_entries(runtime, "dict", arguments));
}

Value make_namespace(Runtime& runtime, Arguments& arguments) {
  const Value values = runtime.dict(dict_entries(runtime, "namespace", arguments));
  auto* made = runtime.make<Namespace>();
  for (const auto& [key, value] : values.dict().entries()) {
    if (key.is_text()) made->set(runtime, key.text(), value);
  }
  return Value(made);
}

Value make_cycler(Runtime& runtime, Arguments& arguments) {
  if (!arguments.named.empty()) fail("'cycler' takes no named arguments");
  if (arguments.positional.empty()) fail("'cycler' needs something to go through");
  return Value(runtime.make<Cycler>(arguments.positional));
}

Value make_joiner(Runtime& runtime, Arguments& arguments) {
  const Bound bound(arguments, "joiner", {"sep"}, 0);
  return Value(runtime.make<Joiner>(bound.has(0) ? bound[0] : runtime.text(", ")));
}

Value raise_exception(Runtime& runtime, Arguments& arguments) {
  const Bound bound(arguments, "raise_exception", {"message"}, 1);
  throw Failure{Failure::Kind::kRaised, to_text(runtime, bound[0])->bytes()};
}

Value strftime_now(Runtime& runtime, Arguments& arguments) {
  const Bound bound(arguments, "strftime_now", {"format"}, 1);
  if (!runtime.options.now) fail("strftime_now: no time was given for this rendering");
  return runtime.text(strftime(bound.text(0)->bytes(), *runtime.options.now));
}

constexpr std::array<std::pair<std::string_view, FunctionPointer>, 7> kGlobals = {{
    {"range", make_range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"cycler", make_cycler},
    {"joiner", make_joiner},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
}};

}  // namespace

std::optional<Value> find_global(Runtime& runtime, std::string_view name) {
  const auto* found = std::find_if(kGlobals.begin(), kGlobals.end(),
                                   [&](const auto& entry) { return entry.first == name; });
  if (found == kGlobals.end()) return std::nullopt;
  return Value(runtime.make<Function>(found->first, found->second));
}

void Namespace::set(Runtime& runtime, const TextPtr& name, const Value& value) {
  for (auto& [key, old] : values_) {
    runtime.budget.spend(1);
    if (key->bytes() == name->bytes()) {
      old = value;
      return;
    }
  }
  values_.emplace_back(name, value);
}

bool Namespace::attribute(Runtime& runtime, std::string_view name, Value& value) {
  for (const auto& [key, held] : values_) {
    runtime.budget.spend(1);
    if (key->bytes() == name) {
      value = held;
      return true;
    }
  }
  return false;
}

void Namespace::print(Runtime& runtime, TextBuilder& out) {
  out.append("<Namespace {", Origin::kTemplate);
  bool first = true;
  for (const auto& [key, value] : values_) {
    if (!first) out.append(", ", Origin::kTemplate);
    first = false;
    append_repr(runtime, out, Value(key));
    out.append(": ", Origin::kTemplate);
    append_repr(runtime, out, value);
  }
  out.append("}>", Origin::kTemplate);
}

}  // namespace windrow::jinja
