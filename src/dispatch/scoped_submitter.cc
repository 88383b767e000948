#include "dispatch/scoped_submitter.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace windrow::dispatch {

ScopedSubmitter::ScopedSubmitter(Dispatcher& dispatcher, ShareOptions options)
    : dispatcher_(dispatcher), options_(options) {}

ScopedSubmitter::~ScopedSubmitter() {
  stop_admitting();
  cancel_all();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return live_.empty(); });
}

// In-flight windows grow while requests run, so they are read again before a submitter has to wait.
bool ScopedSubmitter::has_room() {
  if (live_.empty()) return true;
  if (tokens_ >= options_.tokens_max) return false;
  if (live_.size() < bound_) return true;
  int64_t out_max = 0;
  for (const UpstreamReading& reading : dispatcher_.readings())
    out_max += reading.in_flight_max;
  bound_ = static_cast<size_t>(2 * out_max + options_.ahead);
  return live_.size() < bound_;
}

bool ScopedSubmitter::submit(llm::Request request, WorkItem item, Cost expected, Done done) {
  uint64_t serial = 0;
  {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return !admitting_ || has_room(); });
    --waiting_;
    if (!admitting_) return false;
    serial = ++submitted_;
    live_.emplace(serial, Live{.item = {}, .tokens = item.tokens});
    tokens_ += item.tokens;
  }
  const std::optional<ItemId> id =
      dispatcher_.submit(std::move(request), item, expected,
                         [this, serial, done = std::move(done)](DispatchResult result) {
                           done(std::move(result));
                           ended(serial);
                         },
                         left_.get_token(),
                         // So that a cancellation can tell whether it still waits for its model.
                         {.load_wait = std::make_shared<llm::LoadWait>()});
  if (!id) {
    ended(serial);
    return false;
  }
  Cancel cancelled = Cancel::kNothing;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = live_.find(serial);
    if (found == live_.end()) return true;
    found->second.item = *id;
    cancelled = cancelled_;
  }
  // A cancellation meanwhile did not know its id yet.
  if (cancelled == Cancel::kWaiting) dispatcher_.cancel_unless_out(*id);
  if (cancelled == Cancel::kAll) dispatcher_.cancel(*id);
  return true;
}

void ScopedSubmitter::ended(uint64_t serial) {
  const std::scoped_lock lock(mutex_);
  const auto found = live_.find(serial);
  tokens_ -= found->second.tokens;
  live_.erase(found);
  // To wake a thread costs more than all else here: it sleeps until it can bring several.
  const bool worth_it = live_.size() <= bound_ / 4 * 3;
  if (live_.empty() || (waiting_ > 0 && worth_it)) changed_.notify_all();
}

void ScopedSubmitter::stop_admitting() {
  {
    const std::scoped_lock lock(mutex_);
    admitting_ = false;
    changed_.notify_all();
  }
  left_.request_stop();
}

void ScopedSubmitter::cancel_waiting() {
  cancel_those(Cancel::kWaiting);
}

void ScopedSubmitter::cancel_all() {
  cancel_those(Cancel::kAll);
}

void ScopedSubmitter::cancel_those(Cancel what) {
  std::vector<ItemId> items;
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = std::max(cancelled_, what);
    for (const auto& [serial, live] : live_) {
      if (live.item) items.push_back(*live.item);
    }
  }
  for (const ItemId item : items) {
    if (what == Cancel::kAll) {
      dispatcher_.cancel(item);
    } else {
      dispatcher_.cancel_unless_out(item);
    }
  }
}

int32_t ScopedSubmitter::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int32_t>(live_.size());
}

}  // namespace windrow::dispatch
