#include "dispatch/ready_items.h"

#include <algorithm>

namespace windrow::dispatch {
namespace {

constexpr size_t kScanOfTenantMin = 2;
constexpr size_t kTenantsScannedMax = 64;

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

ReadyItems::Ranked& ReadyItems::part_of(Tenant& tenant, const WorkItem& item) {
  if (item.refused_by != 0) return tenant.refused;
  return item.deadline ? tenant.with_deadline : tenant.without_deadline;
}

void ReadyItems::add(const WorkItem& item, uint64_t arrival) {
  Tenant& tenant = tenants_[item.tenant];
  if (tenant.empty()) turns_.ready(item.tenant);
  part_of(tenant, item)[{item.deadline.value_or(TimePoint{}), arrival}] = item.id;
  ++count_of(item);
}

void ReadyItems::remove(const WorkItem& item, uint64_t arrival) {
  const auto tenant = tenants_.find(item.tenant);
  part_of(tenant->second, item).erase({item.deadline.value_or(TimePoint{}), arrival});
  --count_of(item);
  if (!tenant->second.empty()) return;
  tenants_.erase(tenant);
  turns_.unready(item.tenant);
}

std::optional<ItemId> ReadyItems::find_fresh(const Tenant& tenant, size_t scan_max,
                                             const Accept& accept) const {
  const bool deadlines_first =
      tenant.deadline_run < options_.deadline_run_max || tenant.without_deadline.empty();
  const Ranked& first = deadlines_first ? tenant.with_deadline : tenant.without_deadline;
  const Ranked& second = deadlines_first ? tenant.without_deadline : tenant.with_deadline;
  const std::optional<ItemId> found = first_accepted(first, scan_max, accept);
  return found ? found : first_accepted(second, scan_max, accept);
}

std::optional<ItemId> ReadyItems::find(Kind kind, const Accept& accept) const {
  if (count(kind) == 0) return std::nullopt;
  const size_t of_each = std::max(options_.scan_max / turns_.ready_count(), kScanOfTenantMin);
  size_t tenants = 0;
  std::optional<ItemId> found;
  turns_.visit([&](uint64_t id) {
    const Tenant& tenant = tenants_.at(id);
    found = kind == Kind::kRefused ? first_accepted(tenant.refused, of_each, accept)
                                   : find_fresh(tenant, of_each, accept);
    return found || ++tenants == kTenantsScannedMax;
  });
  return found;
}

void ReadyItems::started(const WorkItem& item) {
  Tenant& tenant = tenants_.at(item.tenant);
  tenant.deadline_run = item.deadline ? tenant.deadline_run + 1 : 0;
}

}  // namespace windrow::dispatch
