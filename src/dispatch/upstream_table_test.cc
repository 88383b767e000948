#include "dispatch/upstream_table.h"

#include <gtest/gtest.h>

namespace windrow::dispatch {
namespace {

constexpr TimePoint kNow{std::chrono::seconds(1000)};
constexpr UpstreamId kFirst(0);
constexpr UpstreamId kSecond(1);

UpstreamTableOptions upstreams(std::vector<int32_t> limits) {
  UpstreamTableOptions options;
  for (const int32_t limit : limits)
    options.upstreams.push_back({.concurrency = {.fixed = limit}});
  return options;
}

// The call that an item of this kind gets; nothing: no upstream can take it.
std::optional<UpstreamCall> send(UpstreamTable& table, const WorkItem& item, size_t calls = 0) {
  table.begin_round(kNow);
  if (!table.find_open(kNow, calls)) return std::nullopt;
  const std::optional<UpstreamId> upstream = table.choose(kNow, item, false);
  if (!upstream) return std::nullopt;
  return table.send(kNow, *upstream, item.tokens, item.priority, 1, &item);
}

TEST(UpstreamTable, SendsWhileThereAreSlots) {
  UpstreamTable table(upstreams({1, 2}));
  std::vector<UpstreamCall> calls;
  while (const auto call = send(table, {.tokens = 10}))
    calls.push_back(*call);
  EXPECT_EQ(calls.size(), 3U);
  EXPECT_EQ(table.in_flight(kFirst), 1);
  EXPECT_EQ(table.in_flight(kSecond), 2);
  EXPECT_EQ(table.slots_in_flight(), 3U);
  Random random(1);
  table.ended(kNow, calls.front(), {}, false, 2, random);
  EXPECT_TRUE(send(table, {.tokens = 10}).has_value());
}

TEST(UpstreamTable, GoesOnlyWhereAnItemMayGo) {
  UpstreamTable table(upstreams({4, 1}));
  EXPECT_EQ(send(table, {.upstreams = 0b10})->upstream, kSecond);
  EXPECT_FALSE(send(table, {.upstreams = 0b10}).has_value());
  EXPECT_EQ(send(table, {})->upstream, kFirst);
}

TEST(UpstreamTable, PrefersAnUpstreamThatHasNotRefusedTheItem) {
  UpstreamTable table(upstreams({4, 4}));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(send(table, {.refused_by = 0b01})->upstream, kSecond);
  EXPECT_EQ(send(table, {.refused_by = 0b01})->upstream, kFirst) << "rather than nowhere";
  EXPECT_TRUE(table.has_alternative(kNow, {.refused_by = 0b01}));
  EXPECT_FALSE(table.has_alternative(kNow, {.refused_by = 0b11}));
}

TEST(UpstreamTable, ReservedSlotsAreForHigherPriorities) {
  UpstreamTableOptions options = upstreams({8});
  options.reserve = queueing::kServerReserve;
  UpstreamTable table(options);
  int rows = 0;
  while (send(table, {.priority = Priority::kBatch}))
    ++rows;
  EXPECT_EQ(rows, 7);
  EXPECT_TRUE(send(table, {.priority = Priority::kInteractive}).has_value());
}

TEST(UpstreamTable, AllUpstreamsTogetherHaveOneBound) {
  UpstreamTableOptions options = upstreams({8, 8});
  options.calls_max = 3;
  UpstreamTable table(options);
  EXPECT_TRUE(send(table, {}, 2).has_value());
  EXPECT_FALSE(send(table, {}, 3).has_value());
}

TEST(UpstreamTable, AUsedUpQuotaSaysWhenItIsReadyAgain) {
  UpstreamTableOptions options = upstreams({8});
  options.quotas = {{.tokens_per_minute = 100}};
  UpstreamTable table(options);
  ASSERT_TRUE(send(table, {.tokens = 100}).has_value());
  EXPECT_FALSE(send(table, {.tokens = 100}).has_value());
  ASSERT_TRUE(table.wake_at().has_value());
  EXPECT_GT(*table.wake_at(), kNow);
}

TEST(UpstreamTable, AnOverloadPausesAllUpstreamsOfTheQuota) {
  Random random(1);
  UpstreamTable table(upstreams({8, 8}));
  const CallEnd refusal{.fault = Fault::kOverloaded};
  for (int i = 0; i < 8; ++i) {
    const auto call = send(table, {.upstreams = 0b01});
    if (!call) break;
    table.ended(kNow, *call, refusal, false, 0, random);
  }
  EXPECT_FALSE(send(table, {.upstreams = 0b10}).has_value());
  EXPECT_TRUE(table.wake_at().has_value());
}

TEST(UpstreamTable, RefusalsThatClientsHearPauseNothing) {
  Random random(1);
  UpstreamTableOptions options = upstreams({8});
  options.refusals_are_own = true;
  UpstreamTable table(options);
  for (int i = 0; i < 20; ++i) {
    const auto call = send(table, {});
    ASSERT_TRUE(call.has_value()) << i;
    table.ended(kNow, *call, {.fault = Fault::kOverloaded}, true, 0, random);
  }
}

TEST(UpstreamTable, AnswersThatDoNotMatchMakeCallsSmaller) {
  Random random(1);
  UpstreamTable table(upstreams({8}));
  table.begin_round(kNow);
  ASSERT_TRUE(table.find_open(kNow, 0));
  const UpstreamCall call = table.send(kNow, kFirst, 100, Priority::kBatch, 8, nullptr);
  table.ended(kNow, call, {.fault = Fault::kRequest, .unmatched = true}, false, 0, random);
  EXPECT_EQ(table.pack_rows_max(kFirst), 4);
}

}  // namespace
}  // namespace windrow::dispatch
