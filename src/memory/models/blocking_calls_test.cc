#include "memory/models/blocking_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "async/executor.h"
#include "memory/testing/scripted_models.h"

namespace windrow::memory {
namespace {

llm::Failure broken(std::string code) {
  return {.status = 500, .code = std::move(code), .message = "broken"};
}

TEST(BlockingCalls, AModelThatReturnsTooFewVectorsIsAFailure) {
  testing::ScriptedModels models;
  models.on_embed = [](const std::vector<std::string>&) -> EmbedOutcome {
    return std::vector<std::vector<float>>{{1.0F}};
  };
  EXPECT_TRUE(std::holds_alternative<std::vector<std::vector<float>>>(
      embed_and_wait(models, "", {"a"}, {})));
  const EmbedOutcome outcome = embed_and_wait(models, "", {"a", "b"}, {});
  EXPECT_EQ(std::get<llm::Failure>(outcome).status, 502);
}

TEST(BlockingCalls, NothingIsAskedForNoTexts) {
  testing::ScriptedModels models;
  const EmbedOutcome outcome = embed_and_wait(models, "", {}, {});
  EXPECT_TRUE(std::get<std::vector<std::vector<float>>>(outcome).empty());
  EXPECT_TRUE(models.embeds().empty());
}

TEST(DoInParallel, KeepsAtMostSoManyInFlightAndDoesAll) {
  async::Executor executor(8);
  std::atomic<int32_t> in_flight = 0;
  std::atomic<int32_t> in_flight_max = 0;
  std::vector<int32_t> done_parts(100);
  const std::optional<llm::Failure> failure =
      do_in_parallel(done_parts.size(), 3, [&](size_t part, std::stop_token, auto done) {
        executor.post([&, part, done = std::move(done)] {
          const int32_t now = ++in_flight;
          int32_t seen = in_flight_max;
          while (now > seen && !in_flight_max.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          ++done_parts[part];
          --in_flight;
          done(std::nullopt);
        });
      });
  EXPECT_FALSE(failure.has_value());
  EXPECT_EQ(done_parts, std::vector<int32_t>(100, 1));
  EXPECT_LE(in_flight_max, 3);
}

TEST(DoInParallel, TheFirstFailureStopsTheOthers) {
  std::vector<size_t> begun;
  const std::optional<llm::Failure> failure =
      do_in_parallel(10, 1, [&begun](size_t part, std::stop_token, auto done) {
        begun.push_back(part);
        done(part == 2 ? std::optional(broken("second")) : std::nullopt);
      });
  EXPECT_EQ(failure.value().code, "second");
  EXPECT_EQ(begun, (std::vector<size_t>{0, 1, 2}));
}

TEST(DoInParallel, APartThatEndsBecauseAnotherOneFailedHidesNothing) {
  std::function<void(std::optional<llm::Failure>)> waiting;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  const std::optional<llm::Failure> failure =
      do_in_parallel(2, 2, [&](size_t part, std::stop_token unwanted, auto done) {
        if (part == 1) return done(broken("cause"));
        waiting = std::move(done);
        on_stop.emplace(unwanted, [&waiting] { waiting(broken("cancelled")); });
      });
  EXPECT_EQ(failure.value().code, "cause");
}

TEST(DoInParallel, AStopFromOutsideEndsWhatIsInFlightAndBeginsNothing) {
  std::stop_source all;
  int begun = 0;
  std::function<void(std::optional<llm::Failure>)> waiting;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  const std::optional<llm::Failure> failure = do_in_parallel(
      3, 1,
      [&](size_t, std::stop_token unwanted, auto done) {
        ++begun;
        waiting = std::move(done);
        on_stop.emplace(unwanted, [&waiting] { waiting(broken("cancelled")); });
        all.request_stop();
      },
      all.get_token());
  EXPECT_EQ(failure.value().code, "cancelled");
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace windrow::memory
