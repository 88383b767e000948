#include "sim_upstream/slots.h"

#include <algorithm>
#include <cmath>

#include "base/ensure.h"

namespace windrow::sim_upstream {

Slots::Slots(int32_t slots, int32_t knee) : slots_(slots), knee_(knee > 0 ? knee : slots) {
  ENSURE(slots > 0, "{} slots", slots);
}

double Slots::slowdown() const {
  return std::max(1.0, static_cast<double>(busy()) / knee_);
}

void Slots::move_to(TimePoint now) {
  ENSURE(now >= now_ || ends_.empty(), "time went back");
  if (ends_.empty()) {
    virtual_now_ = 0;  // so that the numbers stay small and sums exact
  } else {
    virtual_now_ += static_cast<double>((now - now_).count()) / slowdown();
  }
  now_ = now;
}

void Slots::start(Key key, Duration work, TimePoint now) {
  ENSURE(!full(), "a row without a slot");
  move_to(now);
  const Work end = virtual_now_ + static_cast<double>(work.count());
  ends_.emplace(end, key);
  end_of_.emplace(key, end);
}

void Slots::cancel(Key key, TimePoint now) {
  const auto found = end_of_.find(key);
  if (found == end_of_.end()) return;
  move_to(now);
  ends_.erase({found->second, key});
  end_of_.erase(found);
}

std::optional<TimePoint> Slots::next_end() const {
  if (ends_.empty()) return std::nullopt;
  const Work left = std::max(0.0, ends_.begin()->first - virtual_now_);
  return now_ + Duration(static_cast<int64_t>(std::ceil(left * slowdown())));
}

Slots::Key Slots::take_end() {
  const std::optional<TimePoint> now = next_end();
  ENSURE(now.has_value(), "no row is running");
  const auto [end, key] = *ends_.begin();
  move_to(*now);
  // The real time was rounded up to a nanosecond; the virtual one is the row's end.
  virtual_now_ = end;
  ends_.erase(ends_.begin());
  end_of_.erase(key);
  return key;
}

}  // namespace windrow::sim_upstream
