#include "dispatch/refusal_watch.h"

#include <algorithm>
#include <cmath>

namespace windrow::dispatch {
namespace {

// Of the requests of an overloaded upstream, so many are refused.
constexpr double kOverloadedShare = 0.7;

// Chance takes a usual upstream this far about once in e^kOverload = 22,000 requests.
constexpr double kOverload = 10;

// After an overload half of the evidence stays: refusals that go on are soon another one.
constexpr double kAfterOverload = kOverload / 2;

// Before anything is known, a high share is believed to be usual: the first refusals of a server
// that stumbles must not be taken for more. The belief counts as much as this many ends.
constexpr double kBelievedShare = 0.2;
constexpr double kBelievedEnds = 50;

// Ends that are remembered; older ones fade.
constexpr double kEndsMax = 400;

}  // namespace

RefusalWatch::RefusalWatch() : ends_(kBelievedEnds), refusals_(kBelievedEnds * kBelievedShare) {}

double RefusalWatch::usual_share() const {
  return std::clamp(refusals_ / ends_, kUsualMin, kUsualMax);
}

RefusalWatch::Ticket RefusalWatch::sent() {
  out_.insert(++last_);
  return last_;
}

void RefusalWatch::count_taken() {
  add(std::log((1 - kOverloadedShare) / (1 - usual_share())), false);
}

void RefusalWatch::answered(Ticket request) {
  if (out_.erase(request) > 0) count_taken();
}

void RefusalWatch::ended_otherwise(Ticket request) {
  out_.erase(request);
}

bool RefusalWatch::refused(Ticket request) {
  if (request <= last_of_overload_) return false;
  out_.erase(request);
  while (!out_.empty() && *out_.begin() < request) {
    out_.erase(out_.begin());
    count_taken();
  }
  add(std::log(kOverloadedShare / usual_share()), true);
  if (evidence_ < kOverload) return false;
  evidence_ = kAfterOverload;
  new_ends_ = 0;
  new_refusals_ = 0;
  out_.clear();
  last_of_overload_ = last_;
  return true;
}

void RefusalWatch::add(double evidence, bool refusal) {
  evidence_ = std::max(evidence_ + evidence, 0.0);
  new_ends_ += 1;
  new_refusals_ += refusal ? 1 : 0;
  if (evidence_ > 0) return;
  ends_ += new_ends_;
  refusals_ += new_refusals_;
  new_ends_ = 0;
  new_refusals_ = 0;
  const double kept = std::min(kEndsMax / ends_, 1.0);
  ends_ *= kept;
  refusals_ *= kept;
}

}  // namespace windrow::dispatch
