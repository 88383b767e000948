#include "dispatch/request_queue.h"

#include <algorithm>

#include "base/ensure.h"

namespace windrow::dispatch {
namespace {

// Where many tenants have something: of each at least so many items are offered, and so many
// tenants are asked for theirs.
constexpr size_t kLookedAtEach = 2;
constexpr size_t kTenantsLookedAt = 64;

}  // namespace

RequestQueue::RequestQueue(LaneOptions options)
    : options_(options), queues_{Queue(options.fair), Queue(options.fair), Queue(options.fair)} {}

RequestQueue::Place RequestQueue::place_of(const Waiting& waiting) {
  return {waiting.item.deadline.value_or(TimePoint{}), waiting.number};
}

std::map<RequestQueue::Place, ItemId>& RequestQueue::part_of(Owned& owned, const WorkItem& item) {
  if (item.refused_by != 0) return owned.refused;
  return item.deadline ? owned.dated : owned.undated;
}

// --- in -----------------------------------------------------------------------------------------

void RequestQueue::push(const WorkItem& item) {
  const uint64_t number = ++pushed_;
  const bool fresh = waiting_.try_emplace(item.id, Waiting{item, number}).second;
  ENSURE(fresh, "item {} waits already", item.id.value());
  if (item.lane == 0) return make_ready(item.id);
  Lane& lane = lanes_[item.lane];
  lane.waiting.emplace(number, item.id);
  if (!lane.out && lane.waiting.size() == 1) make_ready(item.id);
}

void RequestQueue::put_back(const WorkItem& item) {
  const auto out = numbers_out_.find(item.id);
  ENSURE(out != numbers_out_.end(), "item {} was not handed out", item.id.value());
  waiting_[item.id] = Waiting{item, out->second};
  if (item.lane != 0) {
    Lane& lane = lanes_[item.lane];
    lane.waiting.emplace(out->second, item.id);
    lane.out = false;
  }
  numbers_out_.erase(out);
  make_ready(item.id);
}

bool RequestQueue::replace(ItemId id, const WorkItem& item) {
  if (const auto out = numbers_out_.find(id); out != numbers_out_.end()) {
    const uint64_t number = out->second;
    numbers_out_.erase(out);
    numbers_out_.emplace(item.id, number);
    return true;
  }
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return false;
  ENSURE(found->second.item.lane == 0 && item.lane == 0, "item {} keeps its place in a lane",
         id.value());
  const uint64_t number = found->second.number;
  remove(id);
  waiting_.emplace(item.id, Waiting{item, number});
  make_ready(item.id);
  return true;
}

void RequestQueue::make_ready(ItemId id) {
  Waiting& waiting = waiting_.at(id);
  waiting.ready = true;
  Queue& queue = queue_of(waiting.item);
  Owned& owned = queue.owned[waiting.item.tenant];
  if (owned.empty()) queue.order.ready(waiting.item.tenant);
  part_of(owned, waiting.item)[place_of(waiting)] = id;
  ++(waiting.item.refused_by != 0 ? queue.refused : queue.fresh);
}

void RequestQueue::unready(const Waiting& waiting) {
  Queue& queue = queue_of(waiting.item);
  const auto owned = queue.owned.find(waiting.item.tenant);
  part_of(owned->second, waiting.item).erase(place_of(waiting));
  --(waiting.item.refused_by != 0 ? queue.refused : queue.fresh);
  if (!owned->second.empty()) return;
  queue.owned.erase(owned);
  queue.order.unready(waiting.item.tenant);
}

// --- out ----------------------------------------------------------------------------------------

std::optional<ItemId> RequestQueue::find(const std::map<Place, ItemId>& part, size_t looked_at_max,
                                         const Accept& accept) const {
  size_t looked_at = 0;
  for (const auto& [place, id] : part) {
    if (++looked_at > looked_at_max) break;
    if (accept(waiting_.at(id).item)) return id;
  }
  return std::nullopt;
}

std::optional<ItemId> RequestQueue::find(const Owned& owned, size_t looked_at_max,
                                         const Accept& accept) const {
  const bool undated_first = owned.dated_run >= options_.dated_max && !owned.undated.empty();
  auto found = find(undated_first ? owned.undated : owned.dated, looked_at_max, accept);
  return found ? found : find(undated_first ? owned.dated : owned.undated, looked_at_max, accept);
}

std::optional<ItemId> RequestQueue::find(const Queue& queue, bool refused,
                                         const Accept& accept) const {
  if ((refused ? queue.refused : queue.fresh) == 0) return std::nullopt;
  const size_t of_each =
      std::max(options_.looked_at_max / queue.order.ready_count(), kLookedAtEach);
  size_t tenants = 0;
  std::optional<ItemId> found;
  queue.order.visit([&](uint64_t tenant) {
    const Owned& owned = queue.owned.at(tenant);
    found = refused ? find(owned.refused, of_each, accept) : find(owned, of_each, accept);
    return found || ++tenants == kTenantsLookedAt;
  });
  return found;
}

std::optional<ItemId> RequestQueue::find_fresh(const Accept& accept) const {
  // Those that were overtaken as often as they may be, the least urgent first; then by priority.
  std::array<size_t, 2 * kPriorities> order{};
  size_t turns = 0;
  for (size_t i = kPriorities; i-- > 1;) {
    if (queues_[i].overtaken >= options_.overtaken_max[i - 1]) order[turns++] = i;
  }
  for (size_t i = 0; i < kPriorities; ++i)
    order[turns++] = i;
  for (size_t i = 0; i < turns; ++i) {
    if (const std::optional<ItemId> id = find(queues_[order[i]], false, accept)) return id;
  }
  return std::nullopt;
}

std::optional<ItemId> RequestQueue::find_refused(const Accept& accept) const {
  for (const Queue& queue : queues_) {
    if (const std::optional<ItemId> id = find(queue, true, accept)) return id;
  }
  return std::nullopt;
}

bool RequestQueue::has_refused() const {
  return std::ranges::any_of(queues_, [](const Queue& queue) { return queue.refused > 0; });
}

std::optional<WorkItem> RequestQueue::next(const Accept& accept) {
  const bool refused_first = refused_overtaken_ >= options_.refused_overtaken_max;
  std::optional<ItemId> id = refused_first ? find_refused(accept) : find_fresh(accept);
  if (!id) id = refused_first ? find_fresh(accept) : find_refused(accept);
  if (!id) return std::nullopt;
  started(waiting_.at(*id).item);
  const uint64_t number = waiting_.at(*id).number;
  WorkItem item = remove(*id);
  numbers_out_[*id] = number;
  if (item.lane != 0) lanes_[item.lane].out = true;
  return item;
}

void RequestQueue::started(const WorkItem& item) {
  if (item.refused_by != 0) {
    refused_overtaken_ = 0;
    return;
  }
  refused_overtaken_ = has_refused() ? refused_overtaken_ + 1 : 0;
  const auto priority = static_cast<size_t>(item.priority);
  queues_[priority].overtaken = 0;
  Owned& owned = queues_[priority].owned.at(item.tenant);
  owned.dated_run = item.deadline ? owned.dated_run + 1 : 0;
  for (size_t lower = priority + 1; lower < kPriorities; ++lower) {
    Queue& queue = queues_[lower];
    queue.overtaken = queue.fresh > 0 ? queue.overtaken + 1 : 0;
  }
}

// Takes it out of everything but `numbers_out_`.
WorkItem RequestQueue::remove(ItemId id) {
  const auto found = waiting_.find(id);
  const Waiting waiting = found->second;
  if (waiting.ready) unready(waiting);
  waiting_.erase(found);
  if (waiting.item.lane != 0) lanes_[waiting.item.lane].waiting.erase(waiting.number);
  return waiting.item;
}

RequestQueue::Charge RequestQueue::charge(const WorkItem& item) {
  return {.priority = item.priority,
          .of_tenant = queue_of(item).order.charge(item.tenant, item.weight, item.tokens)};
}

void RequestQueue::settle(const Charge& charge, int64_t tokens) {
  queues_[static_cast<size_t>(charge.priority)].order.settle(charge.of_tenant, tokens);
}

void RequestQueue::ended(const WorkItem& item) {
  const bool was_out = numbers_out_.erase(item.id) > 0;
  ENSURE(was_out, "item {} ended and was not handed out", item.id.value());
  if (item.lane == 0) return;
  lanes_.at(item.lane).out = false;
  open_next(item.lane);
}

void RequestQueue::open_next(uint64_t lane) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || found->second.out) return;
  if (found->second.waiting.empty()) {
    lanes_.erase(found);
    return;
  }
  const ItemId first = found->second.waiting.begin()->second;
  if (!waiting_.at(first).ready) make_ready(first);
}

// --- taken out ----------------------------------------------------------------------------------

std::optional<WorkItem> RequestQueue::take(ItemId id) {
  if (!waiting_.contains(id)) return std::nullopt;
  WorkItem item = remove(id);
  if (item.lane != 0) open_next(item.lane);
  return item;
}

std::vector<WorkItem> RequestQueue::take_all() {
  std::vector<WorkItem> all;
  all.reserve(waiting_.size());
  for (const auto& [id, waiting] : waiting_)
    all.push_back(waiting.item);
  for (const WorkItem& item : all)
    take(item.id);
  return all;
}

}  // namespace windrow::dispatch
