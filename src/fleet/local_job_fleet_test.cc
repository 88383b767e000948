#include "fleet/local_job_fleet.h"

#include <gtest/gtest.h>

namespace windrow::fleet {
namespace {

class StillBackend final : public llm::Backend {
 public:
  explicit StillBackend(const llm::BackendStats& stats) : stats_(stats) {}

  void submit(llm::BackendCall, Done) override {}
  int32_t in_flight_target() const override { return 1; }
  llm::BackendStats stats() const override { return stats_; }

 private:
  llm::BackendStats stats_;
};

TEST(BackendGroup, AddsUpWhatModelsDoAndSharesTheDevice) {
  BackendGroup group;
  EXPECT_EQ(group.stats().steps, 0);
  const StillBackend one({.prompt_tokens = 10,
                          .generated_tokens = 1,
                          .steps = 2,
                          .preemptions = 1,
                          .recomputed_tokens = 5,
                          .rows_running = 3,
                          .rows_waiting = 4,
                          .cells_used = 6,
                          .cells_max = 7,
                          .device_bytes_used = 100,
                          .device_bytes_max = 200});
  const StillBackend other({.prompt_tokens = 20,
                            .generated_tokens = 2,
                            .steps = 3,
                            .rows_running = 1,
                            .device_bytes_used = 120,
                            .device_bytes_max = 200});
  group.add(one);
  group.add(other);
  const llm::BackendStats sum = group.stats();
  EXPECT_EQ(sum.prompt_tokens, 30);
  EXPECT_EQ(sum.generated_tokens, 3);
  EXPECT_EQ(sum.steps, 5);
  EXPECT_EQ(sum.preemptions, 1);
  EXPECT_EQ(sum.recomputed_tokens, 5);
  EXPECT_EQ(sum.rows_running, 4);
  EXPECT_EQ(sum.rows_waiting, 4);
  EXPECT_EQ(sum.cells_used, 6);
  EXPECT_EQ(sum.cells_max, 7);
  EXPECT_EQ(sum.device_bytes_used, 120U);
  EXPECT_EQ(sum.device_bytes_max, 200U);
}

}  // namespace
}  // namespace windrow::fleet
