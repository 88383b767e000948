#include "app/stop_relay.h"

#include <utility>

namespace windrow::app {

void StopRelay::stop() {
  const std::scoped_lock lock(mutex_);
  stop_ = true;
  if (target_.stop) target_.stop();
}

void StopRelay::stop_now() {
  const std::scoped_lock lock(mutex_);
  stop_now_ = true;
  if (target_.stop_now) target_.stop_now();
}

bool StopRelay::stopping() const {
  const std::scoped_lock lock(mutex_);
  return stop_ || stop_now_;
}

StopRelay::Attachment::Attachment(StopRelay& relay, Target target) : relay_(relay) {
  relay_.attach(std::move(target));
}

StopRelay::Attachment::~Attachment() {
  relay_.let_go();
}

void StopRelay::attach(Target target) {
  const std::scoped_lock lock(mutex_);
  target_ = std::move(target);
  if (stop_) target_.stop();
  if (stop_now_) target_.stop_now();
}

void StopRelay::let_go() {
  const std::scoped_lock lock(mutex_);
  target_ = {};
}

}  // namespace windrow::app
