#include "dispatch/packer.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(100)};

WorkItem text(uint64_t id, int64_t tokens = 10, uint64_t kind = 1) {
  return {.id = ItemId(id), .tokens = tokens, .pack = kind};
}

TEST(Packer, WhatIsThereLeavesTogether) {
  Packer packer;
  for (uint64_t id = 1; id <= 5; ++id)
    packer.add(kStart, text(id));
  const auto pack = packer.next(kStart);
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->items.size(), 5U);
  EXPECT_EQ(pack->tokens, 50);
  EXPECT_EQ(pack->reason, PackReason::kRoom);
  EXPECT_EQ(packer.next(kStart), std::nullopt);
}

TEST(Packer, ACallEndsAtItsRowsOrItsTokens) {
  Packer packer({.rows_max = 4, .tokens_min = 100, .tokens_max = 100});
  for (uint64_t id = 1; id <= 6; ++id)
    packer.add(kStart, text(id));
  auto pack = packer.next(kStart);
  EXPECT_EQ(pack->items.size(), 4U);
  EXPECT_EQ(pack->reason, PackReason::kRows);
  packer.add(kStart, text(7, 90));
  pack = packer.next(kStart);
  EXPECT_EQ(pack->items.size(), 2U);
  EXPECT_EQ(pack->reason, PackReason::kTokens);
  packer.add(kStart, text(8, 5000));  // the row before leaves alone, and then this
  EXPECT_EQ(packer.next(kStart)->items.size(), 1U);
  EXPECT_EQ(packer.next(kStart)->tokens, 5000);
}

TEST(Packer, KindsDoNotMixAndTheOldestGoesFirst) {
  Packer packer;
  packer.add(kStart, text(1, 10, 9));
  packer.add(kStart + seconds(1), text(2, 10, 3));
  packer.add(kStart + seconds(2), text(3, 10, 9));
  EXPECT_EQ(packer.next(kStart + seconds(3))->items.size(), 2U);
  EXPECT_EQ(packer.next(kStart + seconds(3))->items.front().id, ItemId(2));
}

WorkItem text_of(uint64_t tenant, uint64_t id, int64_t tokens = 10, uint64_t kind = 1) {
  WorkItem item = text(id, tokens, kind);
  item.tenant = tenant;
  return item;
}

std::vector<uint64_t> ids_of(const std::optional<Pack>& pack) {
  std::vector<uint64_t> ids;
  for (const WorkItem& item : pack->items)
    ids.push_back(item.id.value());
  return ids;
}

using Ids = std::vector<uint64_t>;

// A tenant with many rows does not fill the calls of a tenant with few.
TEST(Packer, TenantsTakeTurns) {
  Packer packer({.rows_max = 4});
  for (uint64_t id = 1; id <= 1000; ++id)
    packer.add(kStart, text_of(1, id));
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{1, 2, 3, 4}));
  packer.add(kStart, text_of(2, 2001));
  packer.add(kStart, text_of(2, 2002, 40));
  packer.add(kStart, text_of(2, 2003));
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{2001, 5, 2002, 6}));
  // What it had costs four of the others.
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{7, 8, 9, 2003}));
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{10, 11, 12, 13}));
}

TEST(Packer, TenantsTakeTurnsAmongKindsToo) {
  Packer packer({.rows_max = 4});
  for (uint64_t id = 1; id <= 1000; ++id)
    packer.add(kStart, text_of(1, id));
  packer.next(kStart);
  packer.add(kStart + seconds(1), text_of(2, 2001, 10, 7));
  EXPECT_EQ(ids_of(packer.next(kStart + seconds(1))), (Ids{2001}));
}

TEST(Packer, WhatIsPutBackKeepsItsTurn) {
  Packer packer({.rows_max = 2});
  for (uint64_t id = 1; id <= 4; ++id)
    packer.add(kStart, text_of(1, id));
  const std::optional<Pack> first = packer.next(kStart);
  packer.add(kStart, text_of(2, 21));
  packer.put_back(*first);
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{1, 2}));
  EXPECT_EQ(ids_of(packer.next(kStart)), (Ids{21, 3}));
}

// A window is that of the item that waits longest, also when another tenant's turn comes first.
TEST(Packer, AWindowIsNotBegunAnewByAnother) {
  Packer packer({.rows_max = 3, .window = milliseconds(50)});
  packer.add(kStart, text_of(1, 1));
  packer.add(kStart, text_of(1, 2));
  packer.add(kStart + milliseconds(40), text_of(2, 3));
  EXPECT_EQ(packer.wake_at(kStart + milliseconds(40)), kStart + milliseconds(50));
  packer.take(ItemId(1));
  EXPECT_EQ(packer.wake_at(kStart + milliseconds(40)), kStart + milliseconds(50));
  EXPECT_EQ(packer.next(kStart + milliseconds(49)), std::nullopt);
  EXPECT_EQ(ids_of(packer.next(kStart + milliseconds(50))).size(), 2U);
}

// Tokens by weight, in whatever order they come, whatever is taken out or put back.
TEST(Packer, SharesFollowWeights) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Packer packer({.rows_max = static_cast<int32_t>(random.between(2, 16))});
    std::map<uint64_t, int32_t> weights;
    std::map<uint64_t, int64_t> tokens_of;
    std::map<uint64_t, int> waiting;
    std::map<uint64_t, int64_t> sent;
    for (uint64_t tenant = 1; tenant <= 3; ++tenant) {
      weights[tenant] = static_cast<int32_t>(random.between(1, 4));
      tokens_of[tenant] = random.between(1, 60);
    }
    double weight_sum = 0;
    for (const auto& [tenant, weight] : weights)
      weight_sum += weight;
    uint64_t id = 0;
    int64_t all = 0;
    for (int call = 0; call < 2000; ++call) {
      for (const auto& [tenant, weight] : weights) {
        for (; waiting[tenant] < 200; ++waiting[tenant]) {
          WorkItem item =
              text_of(tenant, ++id, random.between(1, tokens_of[tenant]), 1 + random.below(2));
          item.weight = weight;
          packer.add(kStart, item);
        }
      }
      const std::optional<Pack> pack = packer.next(kStart);
      ASSERT_TRUE(pack);
      if (random.chance(0.2)) {
        packer.put_back(*pack);
        continue;
      }
      for (const WorkItem& item : pack->items) {
        sent[item.tenant] += item.tokens;
        all += item.tokens;
        --waiting[item.tenant];
      }
    }
    for (const auto& [tenant, weight] : weights)
      EXPECT_NEAR(static_cast<double>(sent[tenant]) / static_cast<double>(all), weight / weight_sum,
                  0.05)
          << tenant;
  }
}

TEST(Packer, AWindowMakesTheFirstWait) {
  Packer packer({.rows_max = 3, .window = milliseconds(50)});
  packer.add(kStart, text(1));
  EXPECT_EQ(packer.next(kStart), std::nullopt);
  EXPECT_EQ(packer.wake_at(kStart), kStart + milliseconds(50));
  EXPECT_EQ(packer.wake_at(kStart + milliseconds(50)), std::nullopt);  // now it waits for room
  const auto pack = packer.next(kStart + milliseconds(50));
  EXPECT_EQ(pack->reason, PackReason::kWindow);
  for (uint64_t id = 2; id <= 4; ++id)
    packer.add(kStart, text(id));
  EXPECT_EQ(packer.next(kStart)->reason, PackReason::kRows);  // full ones need no window
}

TEST(Packer, RowsOfACallThatFailedGoInSmallerOnes) {
  Packer packer;
  for (uint64_t id = 1; id <= 5; ++id)
    packer.add(kStart, text(id), 2);
  EXPECT_EQ(packer.next(kStart)->items.size(), 2U);
  EXPECT_EQ(packer.next(kStart)->items.size(), 2U);
  EXPECT_EQ(packer.next(kStart)->items.size(), 1U);
}

TEST(Packer, RowsOfLanesAreNotPacked) {
  const Packer packer;
  WorkItem of_lane = text(1);
  EXPECT_TRUE(packer.packs(of_lane));
  of_lane.lane = 4;
  EXPECT_FALSE(packer.packs(of_lane));
  EXPECT_FALSE(Packer({.rows_max = 1}).packs(text(1)));
}

TEST(Packer, EachRowLeavesExactlyOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Packer packer({.rows_max = static_cast<int32_t>(random.between(2, 20)),
                   .window = milliseconds(random.below(3) * 20)});
    std::set<uint64_t> inside;
    uint64_t added = 0;
    TimePoint now = kStart;
    const auto left = [&](const WorkItem& it) { ASSERT_EQ(inside.erase(it.id.value()), 1U); };
    for (int step = 0; step < 2000; ++step) {
      now += milliseconds(random.below(10));
      if (random.chance(0.7)) {
        WorkItem fresh = text(++added, random.between(1, 400), 1 + random.below(3));
        inside.insert(added);
        packer.add(now, fresh);
      } else if (random.chance(0.8)) {
        if (const auto pack = packer.next(now)) {
          int64_t tokens = 0;
          for (const WorkItem& it : pack->items) {
            left(it);
            tokens += it.tokens;
            ASSERT_EQ(it.pack, pack->items.front().pack);
          }
          ASSERT_EQ(tokens, pack->tokens);
          ASSERT_TRUE(pack->items.size() == 1 || tokens <= packer.size().tokens());
        }
      } else if (added > 0) {
        const ItemId id(1 + random.below(added));
        if (random.chance(0.5)) {
          if (const auto it = packer.take(id)) left(*it);
        } else if (inside.contains(id.value())) {
          auto pack = packer.next(now);
          if (!pack) continue;
          packer.put_back(*pack);
        } else {
          ASSERT_FALSE(packer.replace(id, text(id.value())));
        }
      }
      ASSERT_EQ(packer.waiting(), inside.size());
    }
    for (const WorkItem& it : packer.take_all())
      left(it);
    EXPECT_TRUE(inside.empty());
  }
}

// A server whose calls cost a fixed time and a time per token: more tokens pay until the second
// part is most of it.
TEST(PackSize, GrowsWhileThatPays) {
  PackSize size(PackerOptions{.tokens_min = 512, .tokens_max = 1 << 20});
  for (int call = 0; call < 100; ++call) {
    const auto tokens = size.tokens();
    size.answered(tokens, milliseconds(50) + Duration(tokens * 10'000));  // 10 us a token
  }
  EXPECT_GE(size.tokens(), 16'384);
  EXPECT_LE(size.tokens(), 65'536);
}

TEST(PackSize, StaysBelowWhatWasTooLarge) {
  PackSize size(PackerOptions{.tokens_min = 512, .tokens_max = 1 << 20});
  size.too_large(2048);
  EXPECT_EQ(size.tokens(), 1024);
  for (int call = 0; call < 100; ++call)
    size.answered(size.tokens(), milliseconds(50));
  EXPECT_EQ(size.tokens(), 1024);
}

TEST(Packer, WhatIsTooMuchForOneServerStaysTheFirst) {
  Packer packer;
  for (uint64_t id = 1; id <= 5; ++id)
    packer.add(kStart, text(id));
  std::optional<Pack> pack = packer.next(kStart);
  ASSERT_TRUE(pack);
  EXPECT_EQ(split_pack(*pack, 5), std::nullopt);
  const std::optional<Pack> rest = split_pack(*pack, 2);
  ASSERT_TRUE(rest);
  EXPECT_EQ(pack->items.size(), 2U);
  EXPECT_EQ(pack->tokens, 20);
  EXPECT_EQ(pack->reason, PackReason::kRows);
  packer.put_back(*rest);
  packer.add(kStart, text(6));
  const auto next = packer.next(kStart);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->items.size(), 4U);
  EXPECT_EQ(next->items.front().id, ItemId(3));
  EXPECT_EQ(next->tokens, 40);
}

TEST(Packer, OneThatTakesThePlaceOfAnotherKeepsIt) {
  Packer packer;
  for (uint64_t id = 1; id <= 3; ++id)
    packer.add(kStart, text(id));
  EXPECT_TRUE(packer.replace(ItemId(2), text(9)));
  EXPECT_FALSE(packer.replace(ItemId(2), text(8)));
  EXPECT_EQ(packer.take(ItemId(1))->id, ItemId(1));
  const auto pack = packer.next(kStart);
  ASSERT_TRUE(pack);
  ASSERT_EQ(pack->items.size(), 2U);
  EXPECT_EQ(pack->items[0].id, ItemId(9));
  EXPECT_EQ(pack->items[1].id, ItemId(3));
  EXPECT_EQ(packer.waiting(), 0U);
}

}  // namespace
}  // namespace windrow::dispatch
