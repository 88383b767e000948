#include "dispatch/ready_items.h"

#include <algorithm>

namespace windrow::dispatch {
namespace {

constexpr size_t kScanOfTenantMin = 2;
constexpr size_t kScanOfPartMin = 1;
constexpr size_t kTenantsScannedMax = 64;
constexpr size_t kPartsScannedMax = 64;

std::optional<ItemId> first_accepted(const std::map<std::pair<TimePoint, uint64_t>, ItemId>& ranked,
                                     size_t scan_max, const ReadyItems::Accept& accept) {
  size_t scanned = 0;
  for (const auto& [rank, id] : ranked) {
    if (++scanned > scan_max) break;
    if (accept(id)) return id;
  }
  return std::nullopt;
}

}  // namespace

ReadyItems::Ranked& ReadyItems::ranked_in(Part& part, const WorkItem& item) {
  if (item.refused_by != 0) return part.refused;
  return item.deadline ? part.with_deadline : part.without_deadline;
}

// The turns of the parts of the item's tenant; null while it has one part only. They begin with its
// first other part.
queueing::FairQueue* ReadyItems::turns_of_parts(const WorkItem& item) {
  const auto found = parts_turns_.find(item.tenant);
  if (found != parts_turns_.end()) return &found->second;
  if (item.part == 0) return nullptr;
  queueing::FairQueue& turns = parts_turns_.try_emplace(item.tenant, options_.fair).first->second;
  if (const auto tenant = tenants_.find(item.tenant); tenant != tenants_.end()) {
    for (const auto& [part, items] : tenant->second)
      turns.ready(part);
  }
  return &turns;
}

// Forgets the turns of a tenant that has nothing here and nothing in flight.
void ReadyItems::forget_parts(uint64_t tenant) {
  const auto found = parts_turns_.find(tenant);
  if (found == parts_turns_.end() || !found->second.is_idle() || tenants_.contains(tenant)) return;
  parts_turns_.erase(found);
}

void ReadyItems::add(const WorkItem& item, uint64_t arrival) {
  queueing::FairQueue* const turns = turns_of_parts(item);
  Parts& parts = tenants_[item.tenant];
  if (parts.empty()) turns_.ready(item.tenant);
  const auto [part, is_new] = parts.try_emplace(item.part);
  if (is_new && turns != nullptr) turns->ready(item.part);
  ranked_in(part->second, item)[{item.deadline.value_or(TimePoint{}), arrival}] = item.id;
  ++count_of(item);
}

void ReadyItems::remove(const WorkItem& item, uint64_t arrival) {
  const auto tenant = tenants_.find(item.tenant);
  Parts& parts = tenant->second;
  const auto part = parts.find(item.part);
  ranked_in(part->second, item).erase({item.deadline.value_or(TimePoint{}), arrival});
  --count_of(item);
  if (!part->second.empty()) return;
  parts.erase(part);
  if (queueing::FairQueue* const turns = turns_of_parts(item)) turns->unready(item.part);
  if (!parts.empty()) return;
  tenants_.erase(tenant);
  turns_.unready(item.tenant);
  forget_parts(item.tenant);
}

std::optional<ItemId> ReadyItems::find_fresh(const Part& part, size_t scan_max,
                                             const Accept& accept) const {
  const bool deadlines_first =
      part.deadline_run < options_.deadline_run_max || part.without_deadline.empty();
  const Ranked& first = deadlines_first ? part.with_deadline : part.without_deadline;
  const Ranked& second = deadlines_first ? part.without_deadline : part.with_deadline;
  const std::optional<ItemId> found = first_accepted(first, scan_max, accept);
  return found ? found : first_accepted(second, scan_max, accept);
}

std::optional<ItemId> ReadyItems::find_in(const Part& part, Kind kind, size_t scan_max,
                                          const Accept& accept) const {
  return kind == Kind::kRefused ? first_accepted(part.refused, scan_max, accept)
                                : find_fresh(part, scan_max, accept);
}

std::optional<ItemId> ReadyItems::find_of(uint64_t tenant, Kind kind, size_t scan_max,
                                          const Accept& accept) const {
  const Parts& parts = tenants_.at(tenant);
  const auto turns = parts_turns_.find(tenant);
  if (turns == parts_turns_.end()) return find_in(parts.begin()->second, kind, scan_max, accept);
  const size_t of_each = std::max(scan_max / turns->second.ready_count(), kScanOfPartMin);
  size_t visited = 0;
  std::optional<ItemId> found;
  turns->second.visit([&](uint64_t part) {
    found = find_in(parts.at(part), kind, of_each, accept);
    return found || ++visited == kPartsScannedMax;
  });
  return found;
}

std::optional<ItemId> ReadyItems::find(Kind kind, const Accept& accept) const {
  if (count(kind) == 0) return std::nullopt;
  const size_t of_each = std::max(options_.scan_max / turns_.ready_count(), kScanOfTenantMin);
  size_t visited = 0;
  std::optional<ItemId> found;
  turns_.visit([&](uint64_t tenant) {
    found = find_of(tenant, kind, of_each, accept);
    return found || ++visited == kTenantsScannedMax;
  });
  return found;
}

void ReadyItems::started(const WorkItem& item) {
  Part& part = tenants_.at(item.tenant).at(item.part);
  part.deadline_run = item.deadline ? part.deadline_run + 1 : 0;
}

ReadyItems::Charge ReadyItems::charge(const WorkItem& item) {
  Charge charge{.of_tenant = turns_.charge(item.tenant, item.weight, item.tokens), .of_part = {}};
  if (queueing::FairQueue* const turns = turns_of_parts(item))
    charge.of_part = turns->charge(item.part, 1, item.tokens);
  return charge;
}

void ReadyItems::settle(const Charge& charge, int64_t tokens) {
  turns_.settle(charge.of_tenant, tokens);
  if (!charge.of_part) return;
  parts_turns_.at(charge.of_tenant.tenant).settle(*charge.of_part, tokens);
  forget_parts(charge.of_tenant.tenant);
}

bool ReadyItems::is_before(const WorkItem& one, const WorkItem& other) const {
  if (one.tenant != other.tenant) return turns_.is_before(one.tenant, other.tenant);
  const auto turns = parts_turns_.find(one.tenant);
  return turns != parts_turns_.end() && turns->second.is_before(one.part, other.part);
}

}  // namespace windrow::dispatch
