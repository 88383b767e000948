#include "dispatch/ready_items.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

WorkItem item(uint64_t id, uint64_t tenant, uint64_t part, int64_t tokens = 10) {
  return {.id = ItemId(id), .tokens = tokens, .tenant = tenant, .part = part};
}

std::optional<ItemId> first(const ReadyItems& items) {
  return items.find(ReadyItems::Kind::kFresh, [](ItemId) { return true; });
}

TEST(ReadyItems, PartsOfATenantTakeTurnsWithinWhatItGets) {
  ReadyItems items({});
  std::map<ItemId, WorkItem> all;
  uint64_t next = 1;
  const auto add = [&](uint64_t tenant, uint64_t part) {
    const WorkItem one = item(next++, tenant, part);
    all.emplace(one.id, one);
    items.add(one, one.id.value());
  };
  // One tenant with a hundred programs beside one with a single queue.
  for (int round = 0; round < 4; ++round) {
    for (uint64_t part = 1; part <= 100; ++part)
      add(7, part);
    for (int i = 0; i < 100; ++i)
      add(8, 0);
  }
  std::map<uint64_t, int> by_tenant;
  std::map<uint64_t, int> by_part;
  for (int i = 0; i < 200; ++i) {
    const WorkItem one = all.at(*first(items));
    items.started(one);
    items.remove(one, one.id.value());
    items.settle(items.charge(one), one.tokens);
    ++by_tenant[one.tenant];
    if (one.tenant == 7) ++by_part[one.part];
  }
  EXPECT_EQ(by_tenant[7], 100);
  EXPECT_EQ(by_tenant[8], 100);
  EXPECT_EQ(by_part.size(), 100U);
}

TEST(ReadyItems, TheFirstPartJoinsThoseThatAreThereAlready) {
  ReadyItems items({});
  const WorkItem plain = item(1, 7, 0);
  const WorkItem other = item(2, 7, 5);
  items.add(plain, 1);
  items.add(other, 2);
  items.settle(items.charge(plain), 100);
  EXPECT_EQ(first(items), other.id);
  EXPECT_TRUE(items.is_before(other, plain));
  items.remove(other, 2);
  EXPECT_EQ(first(items), plain.id);
  items.remove(plain, 1);
  EXPECT_EQ(first(items), std::nullopt);
}

TEST(ReadyItems, PartsAreForgottenWithTheirLastItem) {
  ReadyItems items({});
  for (uint64_t id = 1; id <= 500; ++id) {
    const WorkItem one = item(id, id % 3, id);
    items.add(one, id);
    items.remove(one, id);
    const ReadyItems::Charge charge = items.charge(one);
    EXPECT_GT(items.parted_tenants(), 0U);
    items.settle(charge, static_cast<int64_t>(id));
  }
  EXPECT_EQ(items.parted_tenants(), 0U);
}

// Least attained service at both levels, as naive as it can be written: what each tenant and each
// of its parts was served, by name; a newcomer starts at the least of those that have something.
class NaiveTurns {
 public:
  void settle(uint64_t tenant, uint64_t part, int64_t tokens) {
    tenants_[tenant] += tokens;
    parts_[{tenant, part}] += tokens;
  }
  int64_t of(uint64_t tenant) const { return at(tenants_, tenant); }
  int64_t of(uint64_t tenant, uint64_t part) const { return at(parts_, std::pair(tenant, part)); }

 private:
  template <class Map, class Key>
  static int64_t at(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
  }
  std::map<uint64_t, int64_t> tenants_;
  std::map<std::pair<uint64_t, uint64_t>, int64_t> parts_;
};

// Every tenant and every part always has another item, as many as are in flight at most; costs are
// known at the end only. The chosen item is of the tenant and the part that were served least, but
// for what is in flight.
TEST(ReadyItems, WhoeverGoesWasServedLeastAtBothLevels) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ReadyItems items({});
    NaiveTurns naive;
    std::map<ItemId, WorkItem> queued;
    std::vector<std::pair<WorkItem, ReadyItems::Charge>> in_flight;
    std::map<uint64_t, std::vector<uint64_t>> parts;
    uint64_t next = 1;
    const int64_t cost_max = random.between(1, 200);
    const auto add = [&](uint64_t tenant, uint64_t part) {
      const WorkItem one = item(next++, tenant, part, cost_max);
      queued.emplace(one.id, one);
      items.add(one, one.id.value());
    };
    const auto tenants = static_cast<uint64_t>(random.between(1, 5));
    for (uint64_t tenant = 0; tenant < tenants; ++tenant) {
      const auto count = static_cast<uint64_t>(random.between(1, 6));
      for (uint64_t part = 0; part < count; ++part) {
        parts[tenant].push_back(part);
        for (int i = 0; i < 4; ++i)
          add(tenant, part);
      }
    }
    const auto slots = static_cast<size_t>(random.between(1, 4));
    const int64_t slack = cost_max * static_cast<int64_t>(slots + 1);
    for (int step = 0; step < 400; ++step) {
      if (in_flight.size() == slots) {
        const auto ended = in_flight.begin() + static_cast<ptrdiff_t>(random.below(slots));
        const int64_t cost = random.between(0, cost_max);
        items.settle(ended->second, cost);
        naive.settle(ended->first.tenant, ended->first.part, cost);
        in_flight.erase(ended);
      }
      const WorkItem one = queued.at(*first(items));
      for (uint64_t tenant = 0; tenant < tenants; ++tenant)
        ASSERT_LE(naive.of(one.tenant), naive.of(tenant) + slack) << "tenant " << tenant;
      for (const uint64_t part : parts.at(one.tenant)) {
        ASSERT_LE(naive.of(one.tenant, one.part), naive.of(one.tenant, part) + slack)
            << "part " << part << " of " << one.tenant;
      }
      items.started(one);
      items.remove(one, one.id.value());
      queued.erase(one.id);
      in_flight.emplace_back(one, items.charge(one));
      add(one.tenant, one.part);
    }
  }
}

}  // namespace
}  // namespace windrow::dispatch
