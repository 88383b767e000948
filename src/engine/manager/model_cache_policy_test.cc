#include "engine/manager/model_cache_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::engine {
namespace {

using std::chrono::seconds;

constexpr ModelId kA{0};
constexpr ModelId kB{1};
constexpr ModelId kC{2};

TimePoint at(double s) {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)));
}

// Whether a kCheck passes at once, or the test says so.
enum class Checks : uint8_t { kPassAtOnce, kAreTold };

// A policy whose actions are read as text: "load a, admit b".
class Driven {
 public:
  explicit Driven(std::vector<ModelNeeds> models, ModelCacheOptions options = {.bytes_max = 10},
                  Checks checks = Checks::kPassAtOnce)
      : policy_(models, options), checks_(checks) {}

  template <class Event, class... Rest>
  std::string told(Event event, double when, ModelId model, const Rest&... rest) {
    CacheActions actions;
    (policy_.*event)(at(when), model, rest..., actions);
    return text(when, actions);
  }

  std::string arrive(double when, ModelId model, Requester requester = Requester::kClient) {
    CacheActions actions;
    const Admission arrival = policy_.arrive(at(when), model, requester, actions);
    const std::string_view word = arrival == Admission::kAdmitted ? "admitted"
                                  : arrival == Admission::kWaits  ? "waits"
                                                                  : "refused";
    const std::string more = text(when, actions);
    return std::string(word) + (more.empty() ? "" : ", " + more);
  }
  std::string end(double when, ModelId model, Requester requester = Requester::kClient) {
    return told(&ModelCachePolicy::end, when, model, requester);
  }
  std::string stop_waiting(double when, ModelId model, Requester requester = Requester::kClient) {
    return told(&ModelCachePolicy::stop_waiting, when, model, requester);
  }
  std::string checked(double when, ModelId model) {
    return told(&ModelCachePolicy::checked, when, model);
  }
  std::string loaded(double when, ModelId model, uint64_t bytes) {
    return told(&ModelCachePolicy::loaded, when, model, bytes);
  }
  std::string failed(double when, ModelId model) {
    return told(&ModelCachePolicy::load_failed, when, model);
  }
  std::string unloaded(double when, ModelId model) {
    return told(&ModelCachePolicy::unloaded, when, model);
  }
  std::string request_load(double when, ModelId model) {
    return told(&ModelCachePolicy::request_load, when, model);
  }
  std::string tick(double when) {
    CacheActions actions;
    policy_.tick(at(when), actions);
    return text(when, actions);
  }
  llm::UnloadResult request_unload(double when, ModelId model, std::string* done = nullptr) {
    CacheActions actions;
    const llm::UnloadResult result = policy_.request_unload(at(when), model, actions);
    if (done != nullptr) *done = text(when, actions);
    return result;
  }
  double next(double now) const {
    const std::optional<TimePoint> next = policy_.next_at(at(now));
    return next ? windrow::seconds(next->time_since_epoch()) : -1;
  }

  ModelCachePolicy& operator*() { return policy_; }

 private:
  std::string text(double when, CacheActions actions) {
    if (checks_ == Checks::kPassAtOnce && !actions.empty() &&
        actions.back().kind == CacheAction::Kind::kCheck) {
      const ModelId model = actions.back().model;
      actions.pop_back();
      policy_.checked(at(when), model, actions);
    }
    constexpr std::array<std::string_view, 5> kWords = {"check", "load", "unload", "admit",
                                                        "refuse"};
    std::string text;
    for (const CacheAction& action : actions) {
      if (!text.empty()) text += ", ";
      text += kWords.at(static_cast<size_t>(action.kind));
      text += ' ';
      text += static_cast<char>('a' + action.model.value());
    }
    return text;
  }

  ModelCachePolicy policy_;
  const Checks checks_;
};

TEST(ModelCachePolicy, OneThatIsAskedForIsLoadedOnceAndThenAdmitsAll) {
  Driven policy(std::vector<ModelNeeds>{{.bytes = 4}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.arrive(1, kA), "waits");
  EXPECT_EQ(policy.loaded(2, kA, 4), "admit a");
  EXPECT_EQ(policy.arrive(3, kA), "admitted");
  EXPECT_EQ((*policy).status(kA).requests, 3);
  EXPECT_EQ(policy.end(4, kA), "");
}

TEST(ModelCachePolicy, TheLeastRecentlyUsedIsEvictedForAnother) {
  Driven policy({{.bytes = 4}, {.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(policy.request_load(0, kA), "load a");
  EXPECT_EQ(policy.loaded(0, kA, 4), "");
  EXPECT_EQ(policy.request_load(0, kB), "load b");
  EXPECT_EQ(policy.loaded(0, kB, 4), "");
  EXPECT_EQ(policy.arrive(5, kA), "admitted");
  EXPECT_EQ(policy.end(6, kA), "");
  EXPECT_EQ(policy.arrive(100, kC), "waits, unload b");
  EXPECT_EQ(policy.unloaded(100, kB), "load c");
  EXPECT_EQ(policy.loaded(101, kC, 4), "admit c");
  EXPECT_EQ(policy.arrive(102, kB), "waits, unload a") << "it was not used for longer than c";
}

TEST(ModelCachePolicy, NoModelIsEvictedForAFileThatCannotBeLoaded) {
  Driven policy({{.bytes = 8}, {.bytes = 8}}, {.bytes_max = 10}, Checks::kAreTold);
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a") << "none has to be evicted for it";
  EXPECT_EQ(policy.loaded(1, kA, 8), "admit a");
  EXPECT_EQ(policy.end(2, kA), "");
  EXPECT_EQ(policy.arrive(100, kB), "waits, check b");
  EXPECT_EQ(policy.arrive(101, kA), "admitted") << "it is there meanwhile";
  EXPECT_EQ(policy.arrive(101, kB), "waits") << "it is looked at once";
  EXPECT_EQ(policy.end(101, kA), "");
  EXPECT_EQ(policy.next(101), -1) << "what comes of the look is an event";
  EXPECT_EQ(policy.failed(102, kB), "refuse b");
  EXPECT_EQ((*policy).status(kA).state, llm::LoadState::kLoaded);
  EXPECT_EQ(policy.arrive(103, kB), "refused");
  EXPECT_EQ(policy.arrive(104, kA), "admitted");
  EXPECT_EQ(policy.end(104, kA), "");
  EXPECT_EQ(policy.arrive(200, kB), "waits, check b") << "the file may be another one by now";
  EXPECT_EQ(policy.checked(201, kB), "unload a");
  EXPECT_EQ(policy.unloaded(202, kA), "load b");
}

TEST(ModelCachePolicy, TheResultOfACheckCountsAsLongAsItsModelIsWanted) {
  Driven policy({{.bytes = 8}, {.bytes = 8}}, {.bytes_max = 10}, Checks::kAreTold);
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(1, kA, 8), "admit a");
  EXPECT_EQ(policy.arrive(2, kB), "waits");
  EXPECT_EQ(policy.tick(20), "check b");
  EXPECT_EQ(policy.checked(21, kB), "") << "a request is inside the other one";
  EXPECT_EQ(policy.stop_waiting(22, kB), "");
  EXPECT_EQ(policy.arrive(23, kB), "waits");
  EXPECT_EQ(policy.tick(40), "check b") << "it was not wanted in between";
  EXPECT_EQ(policy.checked(41, kB), "");
  EXPECT_EQ(policy.end(42, kA), "unload a") << "it passed";
}

TEST(ModelCachePolicy, OneThatIsUsedStaysForATurnAndThenAdmitsNoMore) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(1, kA, 6), "admit a");
  EXPECT_EQ(policy.arrive(2, kB), "waits");
  EXPECT_EQ(policy.arrive(3, kA), "admitted");
  EXPECT_EQ(policy.next(3), 11) << "its turn";
  EXPECT_EQ(policy.tick(11), "");
  EXPECT_EQ(policy.next(11), 12) << "how long b leaves it to a to become idle";
  EXPECT_EQ(policy.tick(12), "");
  EXPECT_EQ(policy.arrive(13, kA), "waits") << "it comes after b";
  EXPECT_EQ(policy.end(14, kA), "");
  EXPECT_EQ(policy.end(15, kA), "unload a");
  EXPECT_EQ(policy.unloaded(15, kA), "load b");
  EXPECT_EQ(policy.loaded(16, kB, 6), "admit b");
  EXPECT_EQ(policy.end(17, kB), "");
  EXPECT_EQ(policy.next(17), 18) << "b has rested then, and a waits";
  EXPECT_EQ(policy.tick(18), "unload b");
  EXPECT_EQ(policy.unloaded(18, kB), "load a");
  EXPECT_EQ(policy.loaded(19, kA, 6), "admit a");
}

TEST(ModelCachePolicy, OneThatTookLongToLoadHasALongerTurn) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(30, kA, 6), "admit a");
  EXPECT_EQ(policy.arrive(31, kB), "waits");
  EXPECT_EQ(policy.tick(80), "");
  EXPECT_EQ(policy.arrive(81, kA), "admitted");
  EXPECT_EQ(policy.tick(90), "");
  EXPECT_EQ(policy.arrive(91, kA), "waits");
}

TEST(ModelCachePolicy, WhenNoneWaitsForTheRoomAnyMoreRequestsAreAdmittedAgain) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(0, kA, 6), "admit a");
  EXPECT_EQ(policy.arrive(1, kB), "waits");
  EXPECT_EQ(policy.tick(12), "");
  EXPECT_EQ(policy.arrive(13, kA), "waits");
  EXPECT_EQ(policy.stop_waiting(14, kB), "admit a");
}

TEST(ModelCachePolicy, OneThatNeedNotBeEvictedAfterAllAdmitsAgain) {
  Driven policy({{.bytes = 5}, {.bytes = 5}, {.bytes = 5}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(0, kA, 5), "admit a");
  EXPECT_EQ(policy.arrive(1, kB), "waits, load b");
  EXPECT_EQ(policy.loaded(1, kB, 5), "admit b");
  EXPECT_EQ(policy.arrive(100, kC), "waits");
  EXPECT_EQ(policy.tick(110), "");
  EXPECT_EQ(policy.arrive(111, kA), "waits") << "it came first, so it is to leave";
  EXPECT_EQ(policy.end(112, kB), "admit a, unload b") << "another one is sooner ready to";
}

TEST(ModelCachePolicy, OneThatHasWaitedForATurnIsNotOvertakenAnyMore) {
  Driven policy({{.bytes = 10}, {.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(policy.arrive(0, kB), "waits, load b");
  EXPECT_EQ(policy.arrive(1, kA), "waits");
  EXPECT_EQ(policy.loaded(5, kB, 4), "admit b");
  EXPECT_EQ(policy.arrive(12, kC), "waits") << "there is room for it, but not for long";
  EXPECT_EQ(policy.tick(15), "") << "now b has had its turn";
  EXPECT_EQ(policy.end(16, kB), "unload b");
  EXPECT_EQ(policy.unloaded(16, kB), "load a");
}

TEST(ModelCachePolicy, PinnedOnesStayAndWhatDoesNotFitBesideThemIsRefused) {
  Driven policy({{.bytes = 6, .pinned = true}, {.bytes = 5}, {.bytes = 4}});
  EXPECT_EQ(policy.request_load(0, kA), "load a");
  EXPECT_EQ(policy.loaded(0, kA, 6), "");
  EXPECT_EQ(policy.arrive(100, kB), "refused");
  EXPECT_EQ(policy.arrive(100, kC), "waits, load c");
  EXPECT_EQ(policy.loaded(100, kC, 4), "admit c");
  EXPECT_EQ(policy.request_unload(101, kA), llm::UnloadResult::kPinned);
}

TEST(ModelCachePolicy, OneModelAloneMayNeedMoreThanThereIs) {
  Driven policy({{.bytes = 40}, {.bytes = 4}});
  EXPECT_EQ(policy.request_load(0, kB), "load b");
  EXPECT_EQ(policy.loaded(0, kB, 4), "");
  EXPECT_EQ(policy.arrive(50, kA), "waits, unload b");
  EXPECT_EQ(policy.unloaded(50, kB), "load a");
  EXPECT_EQ(policy.loaded(51, kA, 40), "admit a");
  EXPECT_EQ(policy.end(52, kA), "");
  EXPECT_EQ(policy.arrive(99, kB), "waits, unload a");
}

TEST(ModelCachePolicy, WhatCannotBeLoadedIsNotTriedAgainAtOnce) {
  Driven policy({{.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.arrive(0, kB), "waits");
  EXPECT_EQ(policy.failed(1, kA), "refuse a, load b");
  EXPECT_EQ(policy.loaded(2, kB, 4), "admit b");
  EXPECT_EQ(policy.arrive(30, kA), "refused");
  EXPECT_EQ(policy.arrive(31, kA), "waits, load a");
  EXPECT_EQ(policy.failed(32, kA), "refuse a");
  EXPECT_EQ(policy.request_load(33, kA), "load a") << "the operator wants it";
}

TEST(ModelCachePolicy, OneThatIsIdleForLongIsUnloaded) {
  Driven policy({{.bytes = 4}, {.bytes = 4, .pinned = true}},
                {.bytes_max = 10, .unload_idle = seconds(60)});
  for (const ModelId model : {kA, kB}) {
    policy.request_load(0, model);
    policy.loaded(0, model, 4);
  }
  EXPECT_EQ(policy.arrive(10, kA), "admitted");
  EXPECT_EQ(policy.next(10), -1) << "it is used";
  EXPECT_EQ(policy.end(20, kA), "");
  EXPECT_EQ(policy.next(20), 80);
  EXPECT_EQ(policy.tick(79), "");
  EXPECT_EQ(policy.tick(80), "unload a");
  EXPECT_EQ(policy.unloaded(80, kA), "");
  EXPECT_EQ(policy.tick(1000), "") << "the other is pinned";
}

TEST(ModelCachePolicy, WhatTurnsOutLargerThanWasThoughtMakesRoom) {
  Driven policy({{.bytes = 4}, {.bytes = 4}});
  policy.request_load(0, kA);
  EXPECT_EQ(policy.loaded(0, kA, 4), "");
  EXPECT_EQ(policy.arrive(1, kB), "waits, load b");
  EXPECT_EQ(policy.loaded(2, kB, 7), "admit b, unload a");
  EXPECT_EQ(policy.unloaded(3, kA), "");
  EXPECT_EQ((*policy).bytes_used(), 7U);
}

TEST(ModelCachePolicy, OneThatGrowsMakesRoomToo) {
  Driven policy({{.bytes = 4}, {.bytes = 4}});
  policy.request_load(0, kA);
  policy.loaded(0, kA, 4);
  EXPECT_EQ(policy.arrive(1, kB), "waits, load b");
  EXPECT_EQ(policy.loaded(2, kB, 4), "admit b");
  EXPECT_EQ(policy.told(&ModelCachePolicy::grew, 3, kB, uint64_t{6}), "");
  EXPECT_EQ(policy.told(&ModelCachePolicy::grew, 4, kB, uint64_t{7}), "unload a");
}

TEST(ModelCachePolicy, TheOperatorMayUnloadOne) {
  Driven policy({{.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(policy.request_unload(0, kA), llm::UnloadResult::kAbsent);
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.request_unload(0, kA), llm::UnloadResult::kInUse);
  EXPECT_EQ(policy.loaded(0, kA, 4), "admit a");
  EXPECT_EQ(policy.request_unload(0, kA), llm::UnloadResult::kInUse);
  EXPECT_EQ(policy.end(1, kA), "");
  EXPECT_EQ(policy.request_load(1, kB), "load b");
  std::string done;
  EXPECT_EQ(policy.request_unload(1, kA, &done), llm::UnloadResult::kUnloading);
  EXPECT_EQ(done, "") << "one thing at a time";
  EXPECT_EQ(policy.loaded(2, kB, 4), "unload a");
}

TEST(ModelCachePolicy, OneMayBeUnloadedAsSoonAsItIsIdle) {
  Driven policy({{.bytes = 4}, {.bytes = 4, .pinned = true}});
  const auto unload_when_unused = [&](double when, ModelId model) {
    return policy.told(&ModelCachePolicy::unload_when_unused, when, model);
  };
  EXPECT_EQ(unload_when_unused(0, kA), "") << "it is not there";
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(unload_when_unused(0, kA), "") << "a request waits for it";
  EXPECT_EQ(policy.loaded(0, kA, 4), "admit a");
  EXPECT_EQ(policy.arrive(1, kA), "admitted");
  EXPECT_EQ(unload_when_unused(2, kA), "")
      << "two use it, and do not keep it: they were inside before";
  EXPECT_EQ(policy.end(3, kA), "");
  EXPECT_EQ(policy.end(4, kA), "unload a");
  EXPECT_EQ(policy.unloaded(4, kA), "");

  EXPECT_EQ(policy.arrive(5, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(5, kA, 4), "admit a");
  EXPECT_EQ(unload_when_unused(6, kA), "");
  EXPECT_EQ(policy.arrive(7, kA), "admitted") << "it is wanted again";
  EXPECT_EQ(policy.end(8, kA), "");
  EXPECT_EQ(policy.end(9, kA), "");
  EXPECT_EQ(unload_when_unused(10, kA), "unload a") << "it is idle";

  EXPECT_EQ(policy.unloaded(10, kA), "");
  EXPECT_EQ(policy.arrive(11, kB), "waits, load b");
  EXPECT_EQ(policy.loaded(11, kB, 4), "admit b");
  EXPECT_EQ(unload_when_unused(12, kB), "");
  EXPECT_EQ(policy.end(13, kB), "") << "it never leaves";
}

TEST(ModelCachePolicy, AtTheStartAsManyAsFit) {
  const auto chosen = [](const std::vector<ModelNeeds>& models, uint64_t bytes_max) {
    std::string text;
    for (const ModelId id : default_first_models(models, bytes_max))
      text += static_cast<char>('a' + id.value());
    return text;
  };
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7}, {.bytes = 5}}, 10), "ac");
  EXPECT_EQ(chosen({{.bytes = 40}, {.bytes = 7}}, 10), "a") << "one at least";
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7, .pinned = true}, {.bytes = 3}}, 10), "bc");
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7}}, 0), "ab") << "no limit";
}

TEST(ModelCachePolicy, ACallerThatDoesNotWaitIsRefusedAfterAFailureToo) {
  Driven policy(std::vector<ModelNeeds>{{.bytes = 4}});
  const auto ask = [&](double when) {
    CacheActions actions;
    const Admission arrival = (*policy).try_request_load(at(when), kA, actions);
    return std::pair(arrival, actions.size());
  };
  EXPECT_EQ(ask(0), std::pair(Admission::kWaits, size_t{1}));
  EXPECT_EQ(policy.failed(1, kA), "");
  EXPECT_EQ(ask(2), std::pair(Admission::kRefused, size_t{0})) << "nothing is loaded";
  EXPECT_EQ(ask(40), std::pair(Admission::kWaits, size_t{1}));
}

// --- rows of batches ---

TEST(ModelCachePolicy, NoModelThatClientsUsedLatelyIsEvictedForABatch) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(0, kA, 6), "admit a");
  EXPECT_EQ(policy.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(policy.end(30, kA), "") << "its turn is over and it is idle";
  EXPECT_EQ(policy.next(31), 90) << "a minute after the last client";
  EXPECT_EQ(policy.tick(89), "");
  EXPECT_EQ(policy.tick(90), "unload a");
  EXPECT_EQ(policy.unloaded(90, kA), "load b");
}

TEST(ModelCachePolicy, WhatOnlyBatchesUseIsEvictedForAClientAsSoonAsItsRowsHaveEnded) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kB, Requester::kBatch), "waits, load b");
  EXPECT_EQ(policy.loaded(0, kB, 6), "admit b");
  EXPECT_EQ(policy.arrive(1, kB, Requester::kBatch), "admitted");
  EXPECT_EQ(policy.arrive(2, kA), "waits");
  EXPECT_EQ(policy.arrive(2, kB, Requester::kBatch), "waits") << "none is admitted any more";
  EXPECT_EQ(policy.end(3, kB, Requester::kBatch), "");
  EXPECT_EQ(policy.end(3, kB, Requester::kBatch), "unload b") << "long before its turn is over";
  EXPECT_EQ(policy.unloaded(3, kB), "load a");
  EXPECT_EQ(policy.loaded(4, kA, 6), "admit a");
  EXPECT_EQ(policy.end(5, kA), "");
  EXPECT_EQ(policy.tick(64), "");
  EXPECT_EQ(policy.tick(65), "unload a") << "the batch goes on when the clients do not";
}

TEST(ModelCachePolicy, WhatClientsAskForComesBeforeWhatBatchesAskFor) {
  Driven policy({{.bytes = 6}, {.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(policy.arrive(2, kC), "waits");
  EXPECT_EQ(policy.loaded(3, kA, 6), "admit a");
  EXPECT_EQ(policy.end(4, kA), "");
  EXPECT_EQ(policy.tick(5), "unload a");
  EXPECT_EQ(policy.unloaded(5, kA), "load c");
}

TEST(ModelCachePolicy, AClientMakesWhatABatchWaitsForItsOwn) {
  Driven policy({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(0, kA, 6), "admit a");
  EXPECT_EQ(policy.end(1, kA), "");
  EXPECT_EQ(policy.arrive(2, kB, Requester::kBatch), "waits");
  EXPECT_EQ(policy.arrive(3, kB), "waits, unload a");
}

TEST(ModelCachePolicy, ABatchWhoseRoomClientsUseDoesNotHoldUpOneThatFits) {
  Driven policy({{.bytes = 6}, {.bytes = 6}, {.bytes = 4}});
  EXPECT_EQ(policy.arrive(0, kA), "waits, load a");
  EXPECT_EQ(policy.loaded(0, kA, 6), "admit a");
  EXPECT_EQ(policy.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(policy.arrive(50, kC, Requester::kBatch), "waits, load c");
}

}  // namespace
}  // namespace windrow::engine
