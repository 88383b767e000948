#include "jinja/iterables.h"

#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/number.h"
#include "jinja/runtime.h"

namespace windrow::jinja {
namespace {

constexpr Integer kCountMax = 100'000;

class RangeIterator final : public Iterator {
 public:
  RangeIterator(const Range& range, int64_t count) : range_(range), count_(count) {}
  bool next(Value& value) override {
    if (at_ == count_) return false;
    value = range_.at(at_++);
    return true;
  }

 private:
  const Range& range_;
  int64_t count_;
  int64_t at_ = 0;
};

}  // namespace

Value make_range(Runtime& runtime, Arguments& arguments) {
  const Bound bound(arguments, "range", {"", "", ""}, 1);
  int64_t start = 0;
  int64_t stop = to_index(bound[0], "an argument of 'range'");
  if (bound.has(1)) {
    start = stop;
    stop = to_index(bound[1], "an argument of 'range'");
  }
  const int64_t step = bound.integer(2, 1);
  if (step == 0) fail("the step of 'range' must not be zero");
  const Integer distance = step > 0 ? Integer{stop} - start : Integer{start} - stop;
  const Integer stride = step > 0 ? Integer{step} : -Integer{step};
  const Integer count = distance > 0 ? (distance + stride - 1) / stride : 0;
  if (count > kCountMax) fail("'range' may have at most 100,000 numbers");
  auto* range = runtime.make<Range>(start, step, static_cast<int64_t>(count));
  range->stop_shown_ = stop;
  return Value(range);
}

void Range::print(Runtime&, TextBuilder& out) {
  out.append(step_ == 1 ? fmt::format("range({}, {})", start_, stop_shown_)
                        : fmt::format("range({}, {}, {})", start_, stop_shown_, step_),
             Origin::kTemplate);
}

std::unique_ptr<Iterator> Range::iterate(Runtime&) {
  return std::make_unique<RangeIterator>(*this, count_);
}

bool Range::item(Runtime&, const Value& index, Value& value) {
  if (!index.is_integral()) return false;
  int64_t at_index = to_index(index, "an index");
  if (at_index < 0) at_index += count_;
  if (at_index < 0 || at_index >= count_) return false;
  value = at(at_index);
  return true;
}

Value Range::part(Runtime& runtime, int64_t start, int64_t step, int64_t count) const {
  auto* range = runtime.make<Range>(start_ + step_ * start, step_ * step, count);
  range->stop_shown_ = range->start_ + range->step_ * count;
  return Value(range);
}

bool Range::equals(const Range& other) const {
  if (count_ != other.count_) return false;
  if (count_ == 0) return true;
  return start_ == other.start_ && (count_ == 1 || step_ == other.step_);
}

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
  if (running_) fail("a generator cannot be iterated over while it makes its next value");
  running_ = true;
  const bool found = items_->next(value);
  running_ = false;
  return found;
}

}  // namespace windrow::jinja
