// The seeds that every change has to pass (the first twenty of each fifty; all with WINDROW_SOAK),
// and the defects that have to be found. Other seeds: windrow-simulate.
#include "simulate/seed_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/testing/rounds.h"

namespace windrow::simulate {
namespace {

constexpr uint64_t kTests = 10;
constexpr uint64_t kSeedsPerTest = 50;

class Seeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Seeds, GoWell) {
  const uint64_t first = GetParam() * kSeedsPerTest + 1;
  for (uint64_t seed = first; seed < first + windrow::testing::rounds(uint64_t{20}, kSeedsPerTest);
       ++seed) {
    const SeedRun run = run_seed({.seed = seed});
    ASSERT_TRUE(run.well) << "seed " << seed << "\n" << run.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Fixed, Seeds, ::testing::Range(uint64_t{0}, kTests));

TEST(SeedRun, TheSameSeedDoesTheSameToTheLastStep) {
  std::set<uint64_t> traces;
  for (uint64_t seed = 1; seed <= windrow::testing::rounds(15U, 40U); ++seed) {
    const SeedOptions options{.seed = seed, .verbose = true};
    const SeedRun once = run_seed(options);
    const SeedRun again = run_seed(options);
    ASSERT_TRUE(once.well) << once.text;
    ASSERT_EQ(once.trace, again.trace) << "seed " << seed;
    ASSERT_EQ(once.text, again.text) << "seed " << seed;
    traces.insert(once.trace);
  }
  EXPECT_EQ(traces.size(), windrow::testing::rounds(15U, 40U));
}

// --- canaries ---------------------------------------------------------------------------------

struct Planted {
  Canary canary;
  std::vector<std::string> found_as;  // one of these
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << to_string(planted.canary);
}

class Canaries : public ::testing::TestWithParam<Planted> {};

TEST_P(Canaries, AreFoundByAFewSeedsOfAThousand) {
  const int enough = windrow::testing::rounds(1, 3);
  int found = 0;
  for (uint64_t seed = 1; seed <= 1000 && found < enough; ++seed) {
    const SeedRun run = run_seed({.seed = seed, .canary = GetParam().canary});
    if (run.well) continue;
    ++found;
    EXPECT_TRUE(std::ranges::find(GetParam().found_as, run.invariant) != GetParam().found_as.end())
        << run.text;
    const std::string again = fmt::format("again: windrow-simulate --seed {} --canary {}", seed,
                                          to_string(GetParam().canary));
    EXPECT_NE(run.text.find(again), std::string::npos) << run.text;
  }
  EXPECT_EQ(found, enough);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, Canaries,
    ::testing::Values(
        Planted{Canary::kUnsynced, {"a row counts only when it is safe"}},
        Planted{Canary::kTorn,
                {"logs are whole lines", "a row counts only when it is safe",
                 "counters agree with files",
                 // a run compares its files with what it wrote and stops when they differ
                 "a run without faults of the disk ends well"}},
        Planted{Canary::kForgotten, {"no row is billed twice", "a clean end loses no answer"}},
        Planted{Canary::kSwapped, {"every answer belongs to its row"}},
        Planted{Canary::kLockOrder, {"every process ends"}},
        Planted{Canary::kLostWake, {"every process ends", "no stop takes longer than it may"}},
        Planted{Canary::kNeverDone, {"every process ends"}}),
    [](const auto& about) {
      std::string name(to_string(about.param.canary));
      std::erase(name, '-');
      return name;
    });

}  // namespace
}  // namespace windrow::simulate
