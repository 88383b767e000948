#include "engine/manager/shared_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace windrow::engine {
namespace {

// A model that has generated `tokens` tokens and runs one row.
class Loaded final : public LoadedModel, public llm::Backend {
 public:
  explicit Loaded(int64_t tokens) : tokens_(tokens) {}

  llm::Backend& backend() override { return *this; }
  uint64_t bytes() const override { return 8; }
  void submit(llm::BackendCall, Done) override {}
  int32_t in_flight_target() const override { return 7; }
  llm::BackendStats stats() const override {
    return {.generated_tokens = tokens_, .rows_running = 1};
  }

 private:
  const int64_t tokens_;
};

TEST(SharedModel, HasNoLeaseAndNoBytesWithoutAModel) {
  SharedModel shared(3);
  EXPECT_EQ(shared.lease(), nullptr);
  EXPECT_EQ(shared.bytes(), std::nullopt);
  EXPECT_EQ(shared.in_flight_target(), 3);
  EXPECT_EQ(shared.take(), nullptr);
  EXPECT_EQ(shared.loads(), 0U);
}

TEST(SharedModel, CountersGoOnOverAllLoadsAndGaugesDoNot) {
  SharedModel shared(3);
  shared.put(std::make_unique<Loaded>(10));
  EXPECT_EQ(shared.stats().rows_running, 1);
  EXPECT_NE(shared.take(), nullptr);
  EXPECT_EQ(shared.in_flight_target(), 7) << "that of the last model";
  EXPECT_EQ(shared.stats().rows_running, 0);
  shared.put(std::make_unique<Loaded>(5));
  EXPECT_EQ(shared.stats().generated_tokens, 15);
  EXPECT_EQ(shared.loads(), 2U);
  EXPECT_EQ(shared.bytes(), 8U);
}

TEST(SharedModel, IsTakenWhenTheLastLeaseEnds) {
  SharedModel shared(3);
  shared.put(std::make_unique<Loaded>(10));
  SharedModel::Lease first = shared.lease();
  SharedModel::Lease second = shared.lease();
  std::atomic<bool> ended = false;
  std::jthread taker([&] {
    EXPECT_NE(shared.take(), nullptr);
    EXPECT_TRUE(ended);
  });
  first.reset();
  EXPECT_EQ(second->in_flight_target(), 7);
  ended = true;
  second.reset();
  taker.join();
  EXPECT_EQ(shared.lease(), nullptr);
}

}  // namespace
}  // namespace windrow::engine
