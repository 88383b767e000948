// map, select, reject, selectattr and rejectattr: one item at a time, when it is asked for.
#include "jinja/attribute_path.h"
#include "jinja/dict_view.h"
#include "jinja/failure.h"
#include "jinja/filters.h"
#include "jinja/function.h"
#include "jinja/tests.h"

namespace windrow::jinja {
namespace {

const Value* named(const Arguments& arguments, std::string_view name) {
  for (const auto& [given, value] : arguments.named) {
    if (given->bytes() == name) return &value;
  }
  return nullptr;
}

// The rest of the arguments, for a filter or a test that has its name among them.
Arguments behind(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

// Goes over the input from its first question on; an empty one is never gone over.
class Lazy : public Iterator {
 public:
  Lazy(Runtime& runtime, Value input, Arguments arguments)
      : runtime_(runtime), input_(std::move(input)), arguments_(std::move(arguments)) {}

  bool next(Value& value) final {
    if (!started_) {
      started_ = true;
      if (truth(input_)) {
        prepare();
        items_ = runtime_.iterate(input_);
      }
    }
    if (!items_) return false;
    for (Value item; items_->next(item);) {
      runtime_.budget.spend(2);
      if (transform(item, value)) return true;
    }
    return false;
  }

 protected:
  virtual void prepare() = 0;
  virtual bool transform(const Value& item, Value& value) = 0;

  Runtime& runtime_;
  Value input_;
  Arguments arguments_;

 private:
  bool started_ = false;
  std::unique_ptr<Iterator> items_;
};

class Map final : public Lazy {
 public:
  using Lazy::Lazy;

 private:
  void prepare() override {
    if (arguments_.positional.empty()) {
      const Value* attribute = named(arguments_, "attribute");
      if (attribute == nullptr) fail("'map' needs a filter or an attribute");
      for (const auto& given : arguments_.named) {
        const std::string& name = given.first->bytes();
        if (name != "attribute" && name != "default") fail("'map' has no parameter '{}'", name);
      }
      path_.emplace(*attribute, named(arguments_, "default"));
      return;
    }
    const Value& name = arguments_.positional.front();
    if (name.is_text()) filter_ = find_filter(name.text()->bytes());
    if (filter_ == nullptr) fail("'map': there is no such filter");
    rest_ = behind(arguments_, 1);
  }

  bool transform(const Value& item, Value& value) override {
    if (path_) {
      value = path_->of(runtime_, item);
    } else {
      Arguments arguments = rest_;
      value = filter_(runtime_, item, arguments);
    }
    return true;
  }

  std::optional<AttributePath> path_;
  FilterFunction filter_ = nullptr;
  Arguments rest_;
};

class Select final : public Lazy {
 public:
  Select(Runtime& runtime, const Value& input, const Arguments& arguments, bool by_attribute,
         bool wanted)
      : Lazy(runtime, input, arguments), by_attribute_(by_attribute), wanted_(wanted) {}

 private:
  void prepare() override {
    const auto& given = arguments_.positional;
    const size_t at = by_attribute_ ? 1 : 0;
    if (by_attribute_) {
      if (given.empty()) fail("selectattr and rejectattr need the name of an attribute");
      path_.emplace(given.front());
    }
    if (given.size() <= at) return;
    if (given[at].is_text()) test_ = find_test(given[at].text()->bytes());
    if (test_ == nullptr) fail("there is no such test to select by");
    rest_ = behind(arguments_, at + 1);
  }

  bool transform(const Value& item, Value& value) override {
    const Value subject = path_ ? path_->of(runtime_, item) : item;
    bool meets = false;
    if (test_ != nullptr) {
      Arguments arguments = rest_;
      meets = test_(runtime_, subject, arguments);
    } else {
      meets = truth(subject);
    }
    if (meets != wanted_) return false;
    value = item;
    return true;
  }

  bool by_attribute_;
  bool wanted_;
  std::optional<AttributePath> path_;
  TestFunction test_ = nullptr;
  Arguments rest_;
};

Value map(Runtime& runtime, const Value& input, Arguments& arguments) {
  return Value(runtime.make<Generator>(
      "generator", std::make_unique<Map>(runtime, input, std::move(arguments))));
}

template <bool by_attribute, bool wanted>
Value select(Runtime& runtime, const Value& input, Arguments& arguments) {
  return Value(runtime.make<Generator>(
      "generator", std::make_unique<Select>(runtime, input, arguments, by_attribute, wanted)));
}

}  // namespace

const std::vector<FilterEntry>& selection_filters() {
  static const std::vector<FilterEntry> kFilters = {
      {"map", map},
      {"select", select<false, true>},
      {"reject", select<false, false>},
      {"selectattr", select<true, true>},
      {"rejectattr", select<true, false>},
  };
  return kFilters;
}

}  // namespace windrow::jinja
