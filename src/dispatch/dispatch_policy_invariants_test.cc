#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "dispatch/dispatch_policy.h"
#include "dispatch/testing/policy_rig.h"

namespace windrow::dispatch {
namespace {

using std::chrono::milliseconds;
using testing::kStart;

// Everything at once against servers with faults: every item ends exactly once, nothing exceeds
// its limit, lanes keep their order; a call is stopped when all of its items were cancelled, no
// other item is cancelled, and no question is out twice.
TEST(DispatchPolicyInvariants, HoldWhateverHappens) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    DispatchPolicyOptions options;
    options.seed = seed;
    const auto upstreams = static_cast<uint32_t>(random.between(1, 4));
    for (uint32_t i = 0; i < upstreams; ++i) {
      const bool adaptive = random.chance(0.5);
      options.upstreams.push_back(
          {.concurrency = {.fixed = adaptive ? 0 : static_cast<int32_t>(random.between(1, 8))}});
    }
    if (random.chance(0.3)) options.quotas = {{.requests_per_minute = 600}};
    options.retry.backoff_base = milliseconds(random.between(0, 500));
    if (random.chance(0.3)) options.reserve = queueing::kServerReserve;
    const double cancels = random.chance(0.5) ? 0.02 : 0.3;
    options.packer.window = milliseconds(random.below(2) * 30);
    DispatchPolicy policy(options);

    TimePoint now = kStart;
    std::vector<Send> out;
    std::map<uint64_t, int> ends;
    std::set<ItemId> cancelled;
    std::set<CallId> stopped;
    std::map<uint64_t, std::deque<uint64_t>> lanes;
    std::map<uint64_t, WorkItem> items;
    bool failed = false;
    const auto perform = [&](const Actions& actions) {
      for (const Action& action : actions) {
        if (const auto* send = std::get_if<Send>(&action)) {
          failed |= policy.in_flight(send->upstream) < 1;
          for (const ItemId id : send->items) {
            const WorkItem& item = items.at(id.value());
            failed |= item.lane != 0 && lanes[item.lane].front() != id.value();
          }
          out.push_back(*send);
          continue;
        }
        if (const auto* stop = std::get_if<Stop>(&action))
          failed |= !stopped.insert(stop->call).second;
        const auto* ended = std::get_if<Ended>(&action);
        if (ended == nullptr) continue;
        failed |= ended->how == ItemEnd::kCancelled && !cancelled.contains(ended->item);
        failed |= ++ends[ended->item.value()] != 1;
        const WorkItem& item = items.at(ended->item.value());
        if (item.lane != 0) std::erase(lanes[item.lane], ended->item.value());
      }
    };
    uint64_t submitted = 0;
    const uint64_t rows = 600;
    for (int step = 0; step < 200'000 && (submitted < rows || policy.unfinished() > 0); ++step) {
      Actions actions;
      if (submitted < rows && policy.unfinished() < 60 && random.chance(0.5)) {
        WorkItem item{.id = ItemId(++submitted), .tokens = random.between(1, 100)};
        if (random.chance(0.2)) item.lane = 1 + random.below(5);
        if (random.chance(0.3)) item.pack = 1 + random.below(2);
        if (random.chance(0.3)) item.group = 1 + random.below(6);
        if (random.chance(0.2)) item.same_answer = Hash128{random.below(10), 0};
        if (random.chance(0.05)) item.deadline = now + milliseconds(random.between(1, 5000));
        item.priority = static_cast<Priority>(random.below(3));
        item.tenant = random.below(4);
        item.weight = static_cast<int32_t>(random.between(1, 3));
        if (item.lane != 0) lanes[item.lane].push_back(submitted);
        items[submitted] = item;
        policy.submit(now, item, 1, actions);
      } else if (!out.empty() && random.chance(0.6)) {
        const auto chosen = out.begin() + static_cast<std::ptrdiff_t>(random.below(out.size()));
        const CallId call = chosen->call;
        out.erase(chosen);
        CallEnd end{.tokens = 10};
        const double draw = random.unit();
        if (draw < 0.1) end.fault = Fault::kTransient;
        if (draw < 0.04) end.fault = Fault::kOverloaded;
        if (draw < 0.02) end.fault = Fault::kRequest;
        end.unmatched = draw < 0.005;
        end.begun = random.chance(0.1);
        if (stopped.contains(call) && random.chance(0.8)) end.fault = Fault::kCancelled;
        if (random.chance(0.3)) end.retry_after = milliseconds(random.below(3000));
        policy.ended(now, call, end, actions);
      } else if (submitted > 0 && random.chance(cancels)) {
        // Rather one of those that are there.
        const uint64_t before = random.chance(0.8) ? random.below(60) : random.below(submitted);
        const ItemId item(submitted - std::min(before, submitted - 1));
        if (!ends.contains(item.value())) cancelled.insert(item);
        policy.cancel(now, item, actions);
      } else {
        const auto wake = policy.wake_at();
        const TimePoint later = now + milliseconds(random.below(200));
        now = wake && out.empty() ? std::max(now, *wake) : later;
        if (wake && *wake <= now) {
          policy.wake(now, actions);
          // Or its driver would call it without end.
          ASSERT_TRUE(!policy.wake_at() || *policy.wake_at() > now);
        }
        // With nothing out and no time to wait for, nothing would ever happen again.
        ASSERT_TRUE(wake || !out.empty() || submitted < rows || policy.unfinished() == 0)
            << "stuck with " << policy.unfinished();
      }
      perform(actions);
      ASSERT_FALSE(failed);
      std::set<Hash128> asked;
      for (const Send& send : out) {
        bool wanted = false;
        for (const ItemId id : policy.items_of(send.call)) {
          if (cancelled.contains(id)) continue;
          wanted = true;
          const WorkItem& item = items.at(id.value());
          if (item.same_answer && item.lane == 0) {
            ASSERT_TRUE(asked.insert(*item.same_answer).second);
          }
        }
        ASSERT_EQ(stopped.contains(send.call), !wanted);
      }
      for (uint32_t i = 0; i < upstreams; ++i) {
        const ConcurrencyOptions& concurrency = options.upstreams[i].concurrency;
        if (concurrency.fixed > 0) {
          ASSERT_LE(policy.in_flight(UpstreamId(i)), concurrency.fixed);
        }
      }
    }
    EXPECT_EQ(policy.unfinished(), 0U);
    EXPECT_EQ(ends.size(), rows);
  }
}

}  // namespace
}  // namespace windrow::dispatch
