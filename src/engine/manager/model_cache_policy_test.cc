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

constexpr PooledModelId kA{0};
constexpr PooledModelId kB{1};
constexpr PooledModelId kC{2};

TimePoint at(double s) {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)));
}

// What a pool's wish to look at a file brings.
enum class Looks : uint8_t { kPassAtOnce, kAreTold };

// A pool whose actions are read as text: "load a, let in b".
class Pool {
 public:
  explicit Pool(std::vector<PooledModelFacts> models, PoolOptions options = {.bytes_max = 10},
                Looks looks = Looks::kPassAtOnce)
      : pool_(models, options), looks_(looks) {}

  template <class Event, class... Rest>
  std::string told(Event event, double when, PooledModelId model, const Rest&... rest) {
    PoolActions actions;
    (pool_.*event)(at(when), model, rest..., actions);
    return text(when, actions);
  }

  std::string arrive(double when, PooledModelId model, Requester asker = Requester::kClient) {
    PoolActions actions;
    const Arrival arrival = pool_.arrive(at(when), model, asker, actions);
    const std::string_view word = arrival == Arrival::kInside  ? "inside"
                                  : arrival == Arrival::kWaits ? "waits"
                                                               : "refused";
    const std::string more = text(when, actions);
    return std::string(word) + (more.empty() ? "" : ", " + more);
  }
  std::string end(double when, PooledModelId model, Requester asker = Requester::kClient) {
    return told(&ModelCachePolicy::end, when, model, asker);
  }
  std::string leave(double when, PooledModelId model, Requester asker = Requester::kClient) {
    return told(&ModelCachePolicy::leave, when, model, asker);
  }
  std::string looked(double when, PooledModelId model) {
    return told(&ModelCachePolicy::looked, when, model);
  }
  std::string loaded(double when, PooledModelId model, uint64_t bytes) {
    return told(&ModelCachePolicy::loaded, when, model, bytes);
  }
  std::string failed(double when, PooledModelId model) {
    return told(&ModelCachePolicy::load_failed, when, model);
  }
  std::string unloaded(double when, PooledModelId model) {
    return told(&ModelCachePolicy::unloaded, when, model);
  }
  std::string want(double when, PooledModelId model) {
    return told(&ModelCachePolicy::want, when, model);
  }
  std::string tick(double when) {
    PoolActions actions;
    pool_.tick(at(when), actions);
    return text(when, actions);
  }
  llm::UnloadResult dismiss(double when, PooledModelId model, std::string* done = nullptr) {
    PoolActions actions;
    const llm::UnloadResult dismissal = pool_.dismiss(at(when), model, actions);
    if (done != nullptr) *done = text(when, actions);
    return dismissal;
  }
  double next(double now) const {
    const std::optional<TimePoint> next = pool_.next_at(at(now));
    return next ? windrow::seconds(next->time_since_epoch()) : -1;
  }

  ModelCachePolicy& operator*() { return pool_; }

 private:
  std::string text(double when, PoolActions actions) {
    if (looks_ == Looks::kPassAtOnce && !actions.empty() &&
        actions.back().kind == PoolAction::Kind::kLook) {
      const PooledModelId model = actions.back().model;
      actions.pop_back();
      pool_.looked(at(when), model, actions);
    }
    constexpr std::array<std::string_view, 5> kWords = {"look at", "load", "unload", "let in",
                                                        "refuse"};
    std::string text;
    for (const PoolAction& action : actions) {
      if (!text.empty()) text += ", ";
      text += kWords.at(static_cast<size_t>(action.kind));
      text += ' ';
      text += static_cast<char>('a' + action.model.value());
    }
    return text;
  }

  ModelCachePolicy pool_;
  const Looks looks_;
};

TEST(ModelCachePolicy, OneThatIsAskedForIsLoadedOnceAndThenLetsAllIn) {
  Pool pool(std::vector<PooledModelFacts>{{.bytes = 4}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.arrive(1, kA), "waits");
  EXPECT_EQ(pool.loaded(2, kA, 4), "let in a");
  EXPECT_EQ(pool.arrive(3, kA), "inside");
  EXPECT_EQ((*pool).status(kA).requests, 3);
  EXPECT_EQ(pool.end(4, kA), "");
}

TEST(ModelCachePolicy, WhoWasNotUsedLongestLeavesForAnother) {
  Pool pool({{.bytes = 4}, {.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(pool.want(0, kA), "load a");
  EXPECT_EQ(pool.loaded(0, kA, 4), "");
  EXPECT_EQ(pool.want(0, kB), "load b");
  EXPECT_EQ(pool.loaded(0, kB, 4), "");
  EXPECT_EQ(pool.arrive(5, kA), "inside");
  EXPECT_EQ(pool.end(6, kA), "");
  EXPECT_EQ(pool.arrive(100, kC), "waits, unload b");
  EXPECT_EQ(pool.unloaded(100, kB), "load c");
  EXPECT_EQ(pool.loaded(101, kC, 4), "let in c");
  EXPECT_EQ(pool.arrive(102, kB), "waits, unload a") << "it was not used for longer than c";
}

TEST(ModelCachePolicy, NobodyLeavesForAFileThatCannotBeLoaded) {
  Pool pool({{.bytes = 8}, {.bytes = 8}}, {.bytes_max = 10}, Looks::kAreTold);
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a") << "nobody has to leave for it";
  EXPECT_EQ(pool.loaded(1, kA, 8), "let in a");
  EXPECT_EQ(pool.end(2, kA), "");
  EXPECT_EQ(pool.arrive(100, kB), "waits, look at b");
  EXPECT_EQ(pool.arrive(101, kA), "inside") << "it is there meanwhile";
  EXPECT_EQ(pool.arrive(101, kB), "waits") << "it is looked at once";
  EXPECT_EQ(pool.end(101, kA), "");
  EXPECT_EQ(pool.next(101), -1) << "what comes of the look is an event";
  EXPECT_EQ(pool.failed(102, kB), "refuse b");
  EXPECT_EQ((*pool).status(kA).state, llm::LoadState::kLoaded);
  EXPECT_EQ(pool.arrive(103, kB), "refused");
  EXPECT_EQ(pool.arrive(104, kA), "inside");
  EXPECT_EQ(pool.end(104, kA), "");
  EXPECT_EQ(pool.arrive(200, kB), "waits, look at b") << "the file may be another one by now";
  EXPECT_EQ(pool.looked(201, kB), "unload a");
  EXPECT_EQ(pool.unloaded(202, kA), "load b");
}

TEST(ModelCachePolicy, WhatWasSeenOfAFileIsKnownAsLongAsItsModelIsWanted) {
  Pool pool({{.bytes = 8}, {.bytes = 8}}, {.bytes_max = 10}, Looks::kAreTold);
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(1, kA, 8), "let in a");
  EXPECT_EQ(pool.arrive(2, kB), "waits");
  EXPECT_EQ(pool.tick(20), "look at b");
  EXPECT_EQ(pool.looked(21, kB), "") << "a request is inside the other one";
  EXPECT_EQ(pool.leave(22, kB), "");
  EXPECT_EQ(pool.arrive(23, kB), "waits");
  EXPECT_EQ(pool.tick(40), "look at b") << "nobody wanted it in between";
  EXPECT_EQ(pool.looked(41, kB), "");
  EXPECT_EQ(pool.end(42, kA), "unload a") << "it passed";
}

TEST(ModelCachePolicy, OneThatIsUsedKeepsItsPlaceForATurnAndThenLetsNobodyIn) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(1, kA, 6), "let in a");
  EXPECT_EQ(pool.arrive(2, kB), "waits");
  EXPECT_EQ(pool.arrive(3, kA), "inside");
  EXPECT_EQ(pool.next(3), 11) << "its turn";
  EXPECT_EQ(pool.tick(11), "");
  EXPECT_EQ(pool.next(11), 12) << "the patience of who waits";
  EXPECT_EQ(pool.tick(12), "");
  EXPECT_EQ(pool.arrive(13, kA), "waits") << "it comes after b";
  EXPECT_EQ(pool.end(14, kA), "");
  EXPECT_EQ(pool.end(15, kA), "unload a");
  EXPECT_EQ(pool.unloaded(15, kA), "load b");
  EXPECT_EQ(pool.loaded(16, kB, 6), "let in b");
  EXPECT_EQ(pool.end(17, kB), "");
  EXPECT_EQ(pool.next(17), 18) << "b has rested then, and a waits";
  EXPECT_EQ(pool.tick(18), "unload b");
  EXPECT_EQ(pool.unloaded(18, kB), "load a");
  EXPECT_EQ(pool.loaded(19, kA, 6), "let in a");
}

TEST(ModelCachePolicy, WhoSlowlyCameStaysLonger) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(30, kA, 6), "let in a");
  EXPECT_EQ(pool.arrive(31, kB), "waits");
  EXPECT_EQ(pool.tick(80), "");
  EXPECT_EQ(pool.arrive(81, kA), "inside");
  EXPECT_EQ(pool.tick(90), "");
  EXPECT_EQ(pool.arrive(91, kA), "waits");
}

TEST(ModelCachePolicy, WhenNobodyWaitsForTheRoomAnyMoreTheDoorOpensAgain) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(0, kA, 6), "let in a");
  EXPECT_EQ(pool.arrive(1, kB), "waits");
  EXPECT_EQ(pool.tick(12), "");
  EXPECT_EQ(pool.arrive(13, kA), "waits");
  EXPECT_EQ(pool.leave(14, kB), "let in a");
}

TEST(ModelCachePolicy, WhoWasToLeaveAndNeedNotStaysOpen) {
  Pool pool({{.bytes = 5}, {.bytes = 5}, {.bytes = 5}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(0, kA, 5), "let in a");
  EXPECT_EQ(pool.arrive(1, kB), "waits, load b");
  EXPECT_EQ(pool.loaded(1, kB, 5), "let in b");
  EXPECT_EQ(pool.arrive(100, kC), "waits");
  EXPECT_EQ(pool.tick(110), "");
  EXPECT_EQ(pool.arrive(111, kA), "waits") << "it came first, so it is to leave";
  EXPECT_EQ(pool.end(112, kB), "let in a, unload b") << "another one is sooner ready to";
}

TEST(ModelCachePolicy, WhoHasWaitedLongEnoughIsNotOvertakenAnyMore) {
  Pool pool({{.bytes = 10}, {.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(pool.arrive(0, kB), "waits, load b");
  EXPECT_EQ(pool.arrive(1, kA), "waits");
  EXPECT_EQ(pool.loaded(5, kB, 4), "let in b");
  EXPECT_EQ(pool.arrive(12, kC), "waits") << "there is room for it, but not for long";
  EXPECT_EQ(pool.tick(15), "") << "now b has had its turn";
  EXPECT_EQ(pool.end(16, kB), "unload b");
  EXPECT_EQ(pool.unloaded(16, kB), "load a");
}

TEST(ModelCachePolicy, PinnedOnesStayAndWhatDoesNotFitBesideThemIsRefused) {
  Pool pool({{.bytes = 6, .pinned = true}, {.bytes = 5}, {.bytes = 4}});
  EXPECT_EQ(pool.want(0, kA), "load a");
  EXPECT_EQ(pool.loaded(0, kA, 6), "");
  EXPECT_EQ(pool.arrive(100, kB), "refused");
  EXPECT_EQ(pool.arrive(100, kC), "waits, load c");
  EXPECT_EQ(pool.loaded(100, kC, 4), "let in c");
  EXPECT_EQ(pool.dismiss(101, kA), llm::UnloadResult::kPinned);
}

TEST(ModelCachePolicy, OneModelAloneMayNeedMoreThanThereIs) {
  Pool pool({{.bytes = 40}, {.bytes = 4}});
  EXPECT_EQ(pool.want(0, kB), "load b");
  EXPECT_EQ(pool.loaded(0, kB, 4), "");
  EXPECT_EQ(pool.arrive(50, kA), "waits, unload b");
  EXPECT_EQ(pool.unloaded(50, kB), "load a");
  EXPECT_EQ(pool.loaded(51, kA, 40), "let in a");
  EXPECT_EQ(pool.end(52, kA), "");
  EXPECT_EQ(pool.arrive(99, kB), "waits, unload a");
}

TEST(ModelCachePolicy, WhatCannotBeLoadedIsNotTriedAgainAtOnce) {
  Pool pool({{.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.arrive(0, kB), "waits");
  EXPECT_EQ(pool.failed(1, kA), "refuse a, load b");
  EXPECT_EQ(pool.loaded(2, kB, 4), "let in b");
  EXPECT_EQ(pool.arrive(30, kA), "refused");
  EXPECT_EQ(pool.arrive(31, kA), "waits, load a");
  EXPECT_EQ(pool.failed(32, kA), "refuse a");
  EXPECT_EQ(pool.want(33, kA), "load a") << "somebody says so";
}

TEST(ModelCachePolicy, WhoIsNotUsedForLongLeaves) {
  Pool pool({{.bytes = 4}, {.bytes = 4, .pinned = true}},
            {.bytes_max = 10, .unload_idle = seconds(60)});
  for (const PooledModelId model : {kA, kB}) {
    pool.want(0, model);
    pool.loaded(0, model, 4);
  }
  EXPECT_EQ(pool.arrive(10, kA), "inside");
  EXPECT_EQ(pool.next(10), -1) << "it is used";
  EXPECT_EQ(pool.end(20, kA), "");
  EXPECT_EQ(pool.next(20), 80);
  EXPECT_EQ(pool.tick(79), "");
  EXPECT_EQ(pool.tick(80), "unload a");
  EXPECT_EQ(pool.unloaded(80, kA), "");
  EXPECT_EQ(pool.tick(1000), "") << "the other is pinned";
}

TEST(ModelCachePolicy, WhatTurnsOutLargerThanWasThoughtMakesRoom) {
  Pool pool({{.bytes = 4}, {.bytes = 4}});
  pool.want(0, kA);
  EXPECT_EQ(pool.loaded(0, kA, 4), "");
  EXPECT_EQ(pool.arrive(1, kB), "waits, load b");
  EXPECT_EQ(pool.loaded(2, kB, 7), "let in b, unload a");
  EXPECT_EQ(pool.unloaded(3, kA), "");
  EXPECT_EQ((*pool).bytes_used(), 7U);
}

TEST(ModelCachePolicy, OneThatGrowsMakesRoomToo) {
  Pool pool({{.bytes = 4}, {.bytes = 4}});
  pool.want(0, kA);
  pool.loaded(0, kA, 4);
  EXPECT_EQ(pool.arrive(1, kB), "waits, load b");
  EXPECT_EQ(pool.loaded(2, kB, 4), "let in b");
  EXPECT_EQ(pool.told(&ModelCachePolicy::grew, 3, kB, uint64_t{6}), "");
  EXPECT_EQ(pool.told(&ModelCachePolicy::grew, 4, kB, uint64_t{7}), "unload a");
}

TEST(ModelCachePolicy, SomebodyMaySendOneAway) {
  Pool pool({{.bytes = 4}, {.bytes = 4}});
  EXPECT_EQ(pool.dismiss(0, kA), llm::UnloadResult::kAbsent);
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.dismiss(0, kA), llm::UnloadResult::kInUse);
  EXPECT_EQ(pool.loaded(0, kA, 4), "let in a");
  EXPECT_EQ(pool.dismiss(0, kA), llm::UnloadResult::kInUse);
  EXPECT_EQ(pool.end(1, kA), "");
  EXPECT_EQ(pool.want(1, kB), "load b");
  std::string done;
  EXPECT_EQ(pool.dismiss(1, kA, &done), llm::UnloadResult::kUnloading);
  EXPECT_EQ(done, "") << "one thing at a time";
  EXPECT_EQ(pool.loaded(2, kB, 4), "unload a");
}

TEST(ModelCachePolicy, OneMayBeToldToLeaveWhenNobodyUsesItAnyMore) {
  Pool pool({{.bytes = 4}, {.bytes = 4, .pinned = true}});
  const auto dismiss = [&](double when, PooledModelId model) {
    return pool.told(&ModelCachePolicy::dismiss_when_unused, when, model);
  };
  EXPECT_EQ(dismiss(0, kA), "") << "it is not there";
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(dismiss(0, kA), "") << "somebody waits for it";
  EXPECT_EQ(pool.loaded(0, kA, 4), "let in a");
  EXPECT_EQ(pool.arrive(1, kA), "inside");
  EXPECT_EQ(dismiss(2, kA), "") << "two use it, and do not keep it: they were inside before";
  EXPECT_EQ(pool.end(3, kA), "");
  EXPECT_EQ(pool.end(4, kA), "unload a");
  EXPECT_EQ(pool.unloaded(4, kA), "");

  EXPECT_EQ(pool.arrive(5, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(5, kA, 4), "let in a");
  EXPECT_EQ(dismiss(6, kA), "");
  EXPECT_EQ(pool.arrive(7, kA), "inside") << "it is wanted again";
  EXPECT_EQ(pool.end(8, kA), "");
  EXPECT_EQ(pool.end(9, kA), "");
  EXPECT_EQ(dismiss(10, kA), "unload a") << "nobody uses it";

  EXPECT_EQ(pool.unloaded(10, kA), "");
  EXPECT_EQ(pool.arrive(11, kB), "waits, load b");
  EXPECT_EQ(pool.loaded(11, kB, 4), "let in b");
  EXPECT_EQ(dismiss(12, kB), "");
  EXPECT_EQ(pool.end(13, kB), "") << "it never leaves";
}

TEST(ModelCachePolicy, AtTheStartAsManyAsFit) {
  const auto chosen = [](const std::vector<PooledModelFacts>& models, uint64_t bytes_max) {
    std::string text;
    for (const PooledModelId id : models_of_the_start(models, bytes_max))
      text += static_cast<char>('a' + id.value());
    return text;
  };
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7}, {.bytes = 5}}, 10), "ac");
  EXPECT_EQ(chosen({{.bytes = 40}, {.bytes = 7}}, 10), "a") << "one at least";
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7, .pinned = true}, {.bytes = 3}}, 10), "bc");
  EXPECT_EQ(chosen({{.bytes = 4}, {.bytes = 7}}, 0), "ab") << "no limit";
}

TEST(ModelCachePolicy, WhoAsksAndDoesNotWaitHearsOfAFailureToo) {
  Pool pool(std::vector<PooledModelFacts>{{.bytes = 4}});
  const auto ask = [&](double when) {
    PoolActions actions;
    const Arrival arrival = (*pool).ask(at(when), kA, actions);
    return std::pair(arrival, actions.size());
  };
  EXPECT_EQ(ask(0), std::pair(Arrival::kWaits, size_t{1}));
  EXPECT_EQ(pool.failed(1, kA), "");
  EXPECT_EQ(ask(2), std::pair(Arrival::kRefused, size_t{0})) << "nothing is loaded";
  EXPECT_EQ(ask(40), std::pair(Arrival::kWaits, size_t{1}));
}

// --- rows of batches ---

TEST(ModelCachePolicy, ABatchTakesNobodysPlaceWhoWasAskedByClientsLately) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(0, kA, 6), "let in a");
  EXPECT_EQ(pool.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(pool.end(30, kA), "") << "its turn is over and nobody uses it";
  EXPECT_EQ(pool.next(31), 90) << "a minute after the last client";
  EXPECT_EQ(pool.tick(89), "");
  EXPECT_EQ(pool.tick(90), "unload a");
  EXPECT_EQ(pool.unloaded(90, kA), "load b");
}

TEST(ModelCachePolicy, WhatOnlyBatchesUseLeavesForAClientAsSoonAsItsRowsHaveEnded) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kB, Requester::kBatch), "waits, load b");
  EXPECT_EQ(pool.loaded(0, kB, 6), "let in b");
  EXPECT_EQ(pool.arrive(1, kB, Requester::kBatch), "inside");
  EXPECT_EQ(pool.arrive(2, kA), "waits");
  EXPECT_EQ(pool.arrive(2, kB, Requester::kBatch), "waits") << "nobody is let in any more";
  EXPECT_EQ(pool.end(3, kB, Requester::kBatch), "");
  EXPECT_EQ(pool.end(3, kB, Requester::kBatch), "unload b") << "long before its turn is over";
  EXPECT_EQ(pool.unloaded(3, kB), "load a");
  EXPECT_EQ(pool.loaded(4, kA, 6), "let in a");
  EXPECT_EQ(pool.end(5, kA), "");
  EXPECT_EQ(pool.tick(64), "");
  EXPECT_EQ(pool.tick(65), "unload a") << "the batch goes on when the clients do not";
}

TEST(ModelCachePolicy, WhatClientsAskForComesBeforeWhatBatchesAskFor) {
  Pool pool({{.bytes = 6}, {.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(pool.arrive(2, kC), "waits");
  EXPECT_EQ(pool.loaded(3, kA, 6), "let in a");
  EXPECT_EQ(pool.end(4, kA), "");
  EXPECT_EQ(pool.tick(5), "unload a");
  EXPECT_EQ(pool.unloaded(5, kA), "load c");
}

TEST(ModelCachePolicy, AClientMakesWhatABatchWaitsForItsOwn) {
  Pool pool({{.bytes = 6}, {.bytes = 6}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(0, kA, 6), "let in a");
  EXPECT_EQ(pool.end(1, kA), "");
  EXPECT_EQ(pool.arrive(2, kB, Requester::kBatch), "waits");
  EXPECT_EQ(pool.arrive(3, kB), "waits, unload a");
}

TEST(ModelCachePolicy, ABatchWhoseRoomClientsHaveDoesNotHoldUpOneThatFits) {
  Pool pool({{.bytes = 6}, {.bytes = 6}, {.bytes = 4}});
  EXPECT_EQ(pool.arrive(0, kA), "waits, load a");
  EXPECT_EQ(pool.loaded(0, kA, 6), "let in a");
  EXPECT_EQ(pool.arrive(1, kB, Requester::kBatch), "waits");
  EXPECT_EQ(pool.arrive(50, kC, Requester::kBatch), "waits, load c");
}

}  // namespace
}  // namespace windrow::engine
