#include "async/parallel_for.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace windrow::async {
namespace {

TEST(ParallelFor, DoesEveryPartOnceAndReturnsWhenAllAreDone) {
  for (const int32_t workers : {1, 2, 5}) {
    ParallelFor pool(workers);
    for (size_t parts = 0; parts < 40; ++parts) {
      std::vector<int> done(parts, 0);
      pool.run(parts, workers, [&](size_t part, size_t worker) {
        EXPECT_LT(worker, static_cast<size_t>(workers));
        ++done[part];
      });
      EXPECT_EQ(done, std::vector<int>(parts, 1));
    }
  }
}

TEST(ParallelFor, NoTwoPartsRunAtOnceOnOneWorker) {
  ParallelFor pool(4);
  std::vector<std::vector<size_t>> parts_of(4);  // not shared, if that holds
  for (int round = 0; round < 200; ++round) {
    pool.run(16, 4, [&](size_t part, size_t worker) { parts_of[worker].push_back(part); });
  }
  size_t parts = 0;
  for (const std::vector<size_t>& one : parts_of)
    parts += one.size();
  EXPECT_EQ(parts, 200U * 16U);
}

TEST(ParallelFor, UsesNoMoreWorkersThanAsked) {
  ParallelFor pool(4);
  std::vector<int> by_worker(4, 0);
  pool.run(100, 1, [&](size_t, size_t worker) { ++by_worker[worker]; });
  EXPECT_EQ(by_worker, (std::vector<int>{100, 0, 0, 0}));
}

}  // namespace
}  // namespace windrow::async
