#include "jinja/bodies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jinja/failure.h"
#include "jinja/function.h"

namespace windrow::jinja {
namespace {

class FilteredItems final : public Iterator {
 public:
  FilteredItems(BodyRenderer& renderer, Runtime& runtime, const For& node,
                std::unique_ptr<Iterator> items, Scope* parent)
      : renderer_(renderer),
        runtime_(runtime),
        node_(node),
        items_(std::move(items)),
        parent_(parent) {}

  bool next(Value& value) override {
    while (items_->next(value)) {
      runtime_.budget.spend(1);
      if (renderer_.meets_condition(node_, value, parent_)) return true;
    }
    return false;
  }

 private:
  BodyRenderer& renderer_;
  Runtime& runtime_;
  const For& node_;
  std::unique_ptr<Iterator> items_;
  Scope* parent_;
};

class Turns final : public Iterator {
 public:
  Turns(Runtime& runtime, Loop& loop) : runtime_(runtime), loop_(loop) {}
  bool next(Value& value) override {
    Value item;
    if (!loop_.advance(item)) return false;
    value = runtime_.tuple({item, Value(&loop_)});
    return true;
  }

 private:
  Runtime& runtime_;
  Loop& loop_;
};

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

std::unique_ptr<Iterator> filtered_items(BodyRenderer& renderer, Runtime& runtime, const For& node,
                                         std::unique_ptr<Iterator> items, Scope* parent) {
  return std::make_unique<FilteredItems>(renderer, runtime, node, std::move(items), parent);
}

class LoopMethod final : public Object {
 public:
  LoopMethod(Loop& loop, bool changes) : loop_(loop), changes_(changes) {}
  const char* type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Runtime& runtime, Arguments& arguments) override {
    if (!arguments.named.empty()) fail("'loop' methods take no named arguments");
    return changes_ ? loop_.changed(runtime, arguments) : loop_.cycle(arguments);
  }

 private:
  Loop& loop_;
  bool changes_;
};

Loop::Loop(BodyRenderer& renderer, Runtime& runtime, const For& node, Value iterable,
           std::unique_ptr<Iterator> items, int depth, Scope* parent)
    : renderer_(renderer),
      runtime_(runtime),
      node_(node),
      iterable_(std::move(iterable)),
      items_(std::move(items)),
      depth_(depth),
      parent_(parent) {}

const Value* Loop::peek() {
  if (ahead_.empty()) {
    Value item;
    if (!items_->next(item)) return nullptr;
    ahead_.push_back(std::move(item));
  }
  return &ahead_.back();
}

bool Loop::advance(Value& item) {
  if (peek() == nullptr) return false;
  item = std::move(ahead_.back());
  ahead_.pop_back();
  ++index0_;
  previous_ = std::exchange(current_, item);
  return true;
}

int64_t Loop::length() {
  if (length_) return *length_;
  const bool is_sized =
      !node_.condition && (!iterable_.is(Value::Kind::kObject) || iterable_.object().has_length());
  if (is_sized) {
    length_ = length_of(iterable_);
  } else {
    std::vector<Value> rest(ahead_.rbegin(), ahead_.rend());
    for (Value item; items_->next(item);) {
      runtime_.budget.spend(1);
      rest.push_back(std::move(item));
    }
    std::reverse(rest.begin(), rest.end());
    ahead_ = std::move(rest);
    length_ = static_cast<int64_t>(ahead_.size()) + index0_ + 1;
  }
  return *length_;
}

void Loop::print(Runtime&, TextBuilder& out) {
  out.append(fmt::format("<LoopContext {}/{}>", index0_ + 1, length()), Origin::kTemplate);
}

bool Loop::attribute(Runtime& runtime, std::string_view name, Value& value) {
  const auto integer = [&](int64_t number) {
    value = Value::integer(number);
    return true;
  };
  if (name == "index") return integer(index0_ + 1);
  if (name == "index0") return integer(index0_);
  if (name == "revindex") return integer(length() - index0_);
  if (name == "revindex0") return integer(length() - index0_ - 1);
  if (name == "length") return integer(length());
  if (name == "depth") return integer(depth_ + 1);
  if (name == "depth0") return integer(depth_);
  if (name == "first") {
    value = Value(index0_ == 0);
    return true;
  }
  if (name == "last") {
    value = Value(peek() == nullptr);
    return true;
  }
  if (name == "previtem") {
    value = index0_ == 0 ? Value(Undefined{}) : previous_;
    return true;
  }
  if (name == "nextitem") {
    const Value* next = peek();
    value = next == nullptr ? Value(Undefined{}) : *next;
    return true;
  }
  if (name == "cycle" || name == "changed") {
    value = Value(runtime.make<LoopMethod>(*this, name == "changed"));
    return true;
  }
  return false;
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) fail("there is nothing for loop.cycle to go through");
  const auto count = static_cast<int64_t>(arguments.positional.size());
  return arguments.positional[static_cast<size_t>(index0_ % count)];
}

Value Loop::changed(Runtime& runtime, const Arguments& arguments) {
  const auto same = [&](const Value& a, const Value& b) { return runtime.equal(a, b); };
  const bool is_same =
      last_changed_ && std::equal(last_changed_->begin(), last_changed_->end(),
                                  arguments.positional.begin(), arguments.positional.end(), same);
  if (!is_same) last_changed_ = arguments.positional;
  return Value(!is_same);
}

std::unique_ptr<Iterator> Loop::iterate(Runtime& runtime) {
  return std::make_unique<Turns>(runtime, *this);
}

Value Loop::call(Runtime&, Arguments& arguments) {
  if (!node_.recursive) fail("only a loop with 'recursive' can be called");
  const Bound bound(arguments, "loop", {"iterable"}, 1);
  return Value(renderer_.render_loop(node_, bound[0], depth_ + 1, parent_));
}

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
