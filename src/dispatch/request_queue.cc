#include "dispatch/request_queue.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {

using Kind = ReadyItems::Kind;

RequestQueue::RequestQueue(RequestQueueOptions options)
    : options_(options),
      ready_{ReadyItems(options.ready), ReadyItems(options.ready), ReadyItems(options.ready)},
      bypassed_(options.bypass) {}

// --- in -----------------------------------------------------------------------------------------

void RequestQueue::push(const WorkItem& item) {
  const uint64_t arrival = ++arrivals_;
  const bool fresh = queued_.try_emplace(item.id, Queued{item, arrival}).second;
  ENSURE(fresh, "item {} is queued already", item.id.value());
  if (item.lane == 0) return make_ready(item.id);
  Lane& lane = lanes_[item.lane];
  lane.queued.emplace(arrival, item.id);
  if (!lane.in_flight && lane.queued.size() == 1) make_ready(item.id);
}

void RequestQueue::put_back(const WorkItem& item) {
  const auto out = handed_out_.find(item.id);
  ENSURE(out != handed_out_.end(), "item {} was not handed out", item.id.value());
  queued_[item.id] = Queued{item, out->second};
  if (item.lane != 0) {
    Lane& lane = lanes_[item.lane];
    lane.queued.emplace(out->second, item.id);
    lane.in_flight = false;
  }
  handed_out_.erase(out);
  make_ready(item.id);
}

bool RequestQueue::replace(ItemId id, const WorkItem& item) {
  if (const auto out = handed_out_.find(id); out != handed_out_.end()) {
    const uint64_t arrival = out->second;
    handed_out_.erase(out);
    handed_out_.emplace(item.id, arrival);
    return true;
  }
  const auto found = queued_.find(id);
  if (found == queued_.end()) return false;
  ENSURE(found->second.item.lane == 0 && item.lane == 0, "item {} is of a lane", id.value());
  const uint64_t arrival = found->second.arrival;
  remove(id);
  queued_.emplace(item.id, Queued{item, arrival});
  make_ready(item.id);
  return true;
}

void RequestQueue::make_ready(ItemId id) {
  Queued& queued = queued_.at(id);
  queued.ready = true;
  ready_of(queued.item).add(queued.item, queued.arrival);
}

// --- out ----------------------------------------------------------------------------------------

std::optional<ItemId> RequestQueue::find_fresh(const ReadyItems::Accept& accept) const {
  // First the priorities that are due, the lowest before the others; then by priority.
  std::array<size_t, 2 * kPriorities> order{};
  size_t turns = 0;
  for (size_t i = kPriorities; i-- > 1;) {
    if (bypassed_.is_due(static_cast<Priority>(i))) order[turns++] = i;
  }
  for (size_t i = 0; i < kPriorities; ++i)
    order[turns++] = i;
  for (size_t i = 0; i < turns; ++i) {
    if (const std::optional<ItemId> id = ready_[order[i]].find(Kind::kFresh, accept)) return id;
  }
  return std::nullopt;
}

std::optional<ItemId> RequestQueue::find_refused(const ReadyItems::Accept& accept) const {
  for (const ReadyItems& ready : ready_) {
    if (const std::optional<ItemId> id = ready.find(Kind::kRefused, accept)) return id;
  }
  return std::nullopt;
}

bool RequestQueue::has_refused() const {
  return std::ranges::any_of(
      ready_, [](const ReadyItems& ready) { return ready.count(Kind::kRefused) > 0; });
}

std::optional<WorkItem> RequestQueue::next(const Accept& accept) {
  const ReadyItems::Accept accept_id = [&](ItemId id) { return accept(queued_.at(id).item); };
  const bool refused_first = refused_bypassed_ >= options_.refused_bypass_max;
  std::optional<ItemId> id = refused_first ? find_refused(accept_id) : find_fresh(accept_id);
  if (!id) id = refused_first ? find_fresh(accept_id) : find_refused(accept_id);
  if (!id) return std::nullopt;
  started(queued_.at(*id).item);
  const uint64_t arrival = queued_.at(*id).arrival;
  WorkItem item = remove(*id);
  handed_out_[*id] = arrival;
  if (item.lane != 0) lanes_[item.lane].in_flight = true;
  return item;
}

void RequestQueue::started(const WorkItem& item) {
  if (item.refused_by != 0) {
    refused_bypassed_ = 0;
    return;
  }
  refused_bypassed_ = has_refused() ? refused_bypassed_ + 1 : 0;
  ready_of(item).started(item);
  bypassed_.count(item.priority, false);
  for (size_t lower = static_cast<size_t>(item.priority) + 1; lower < kPriorities; ++lower)
    bypassed_.count(static_cast<Priority>(lower), ready_[lower].count(Kind::kFresh) > 0);
}

// From everything but `handed_out_`.
WorkItem RequestQueue::remove(ItemId id) {
  const auto found = queued_.find(id);
  const Queued queued = found->second;
  if (queued.ready) ready_of(queued.item).remove(queued.item, queued.arrival);
  queued_.erase(found);
  if (queued.item.lane != 0) lanes_[queued.item.lane].queued.erase(queued.arrival);
  return queued.item;
}

RequestQueue::Charge RequestQueue::charge(const WorkItem& item) {
  return {.priority = item.priority, .of_item = ready_of(item).charge(item)};
}

void RequestQueue::settle(const Charge& charge, int64_t tokens) {
  ready_[static_cast<size_t>(charge.priority)].settle(charge.of_item, tokens);
}

void RequestQueue::ended(const WorkItem& item) {
  const bool was_out = handed_out_.erase(item.id) > 0;
  ENSURE(was_out, "item {} ended and was not handed out", item.id.value());
  if (item.lane == 0) return;
  lanes_.at(item.lane).in_flight = false;
  open_next(item.lane);
}

void RequestQueue::open_next(uint64_t id) {
  const auto lane = lanes_.find(id);
  if (lane == lanes_.end() || lane->second.in_flight) return;
  if (lane->second.queued.empty()) {
    lanes_.erase(lane);
    return;
  }
  const ItemId first = lane->second.queued.begin()->second;
  if (!queued_.at(first).ready) make_ready(first);
}

// --- taken out ----------------------------------------------------------------------------------

std::optional<WorkItem> RequestQueue::take(ItemId id) {
  if (!queued_.contains(id)) return std::nullopt;
  WorkItem item = remove(id);
  if (item.lane != 0) open_next(item.lane);
  return item;
}

}  // namespace windrow::dispatch
