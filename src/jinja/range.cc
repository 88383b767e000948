#include "jinja/range.h"

#include "jinja/failure.h"
#include "jinja/function.h"
#include "jinja/number.h"

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

}  // namespace windrow::jinja
