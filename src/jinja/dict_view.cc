#include "jinja/dict_view.h"

#include "jinja/failure.h"
#include "jinja/print.h"

namespace windrow::jinja {
namespace {

class ViewIterator final : public Iterator {
 public:
  explicit ViewIterator(std::vector<Value> values) : values_(std::move(values)) {}
  bool next(Value& value) override {
    if (at_ == values_.size()) return false;
    value = values_[at_++];
    return true;
  }

 private:
  std::vector<Value> values_;
  size_t at_ = 0;
};

class GeneratorIterator final : public Iterator {
 public:
  GeneratorIterator(Runtime& runtime, Generator& generator)
      : runtime_(runtime), generator_(generator) {}
  bool next(Value& value) override { return generator_.next(runtime_, value); }

 private:
  Runtime& runtime_;
  Generator& generator_;
};

}  // namespace

const char* DictView::type_name() const {
  switch (part_) {
    case Part::kKeys:
      return "dict_keys";
    case Part::kValues:
      return "dict_values";
    case Part::kItems:
      return "dict_items";
  }
  return "dict_items";
}

std::vector<Value> DictView::collect(Runtime& runtime) const {
  runtime.budget.spend(dict_->entries().size());
  std::vector<Value> values;
  values.reserve(dict_->entries().size());
  for (const auto& [key, value] : dict_->entries()) {
    if (part_ == Part::kItems) {
      values.push_back(runtime.tuple({key, value}));
    } else {
      values.push_back(part_ == Part::kKeys ? key : value);
    }
  }
  return values;
}

std::unique_ptr<Iterator> DictView::iterate(Runtime& runtime) {
  return std::make_unique<ViewIterator>(collect(runtime));
}

void DictView::print(Runtime& runtime, TextBuilder& out) {
  out.append(type_name(), Origin::kTemplate);
  out.append("(", Origin::kTemplate);
  append_repr(runtime, out, runtime.list(collect(runtime), ListKind::kList, dict_->origin()));
  out.append(")", Origin::kTemplate);
}

std::unique_ptr<Iterator> Generator::iterate(Runtime& runtime) {
  return std::make_unique<GeneratorIterator>(runtime, *this);
}

bool Generator::next(Runtime& runtime, Value& value) {
  runtime.budget.check_stack();
  if (running_) fail("a generator cannot be gone over while it makes its next value");
  running_ = true;
  const bool found = items_->next(value);
  running_ = false;
  return found;
}

}  // namespace windrow::jinja
