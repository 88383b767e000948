// What has to hold of every schema (trial.h), for random schemas of each family of keywords. A few
// hundred of each, or as many as fit in WINDROW_FUZZ_SECONDS. WINDROW_KEYWORD_SEED sets the first
// seed; a finding is shown with as little schema and text as shrinking leaves of it.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/clock.h"
#include "keywords/schema_maker.h"
#include "keywords/trial.h"

namespace windrow::keywords {
namespace {

constexpr int kFindingsMax = 5;

class Rounds {
 public:
  bool another(uint64_t round) const {
    if (seconds_ == nullptr) return round < 150;
    return clock_.now() - start_ < std::chrono::seconds(std::atoi(seconds_));
  }

 private:
  const char* seconds_ = std::getenv("WINDROW_FUZZ_SECONDS");
  SystemClock clock_;
  TimePoint start_ = clock_.now();
};

class KeywordFuzz : public ::testing::TestWithParam<int> {};

TEST_P(KeywordFuzz, WhatIsWrittenIsValidAndWhatIsValidMayBeWritten) {
  const auto family = static_cast<Family>(GetParam());
  const char* first = std::getenv("WINDROW_KEYWORD_SEED");
  const uint64_t seed_first = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  const Rounds rounds;
  TrialCounts open;
  TrialCounts closed;
  int findings = 0;
  for (uint64_t round = 0; rounds.another(round) && findings < kFindingsMax; ++round) {
    const uint64_t seed = seed_first + round;
    Random random(seed * kFamilies + static_cast<uint64_t>(GetParam()));
    const boost::json::value schema = random_schema(family, random);
    const TrialOptions options{.open = round % 3 != 2};
    const auto finding = run_trial(schema, seed, options, options.open ? open : closed);
    if (!finding) continue;
    ++findings;
    ADD_FAILURE() << "seed " << seed << (options.open ? "" : ", closed objects") << ": "
                  << shrunk(*finding, options).message()
                  << "\n  of: " << boost::json::serialize(schema);
  }
  const std::string report = std::string(family_name(family)) + "\n  open: " + open.text() +
                             "\n  closed: " + closed.text() + "\n";
  // Items of uniqueItems are refused where they may be objects with undeclared members.
  const size_t refused_share = family == Family::kUniqueMixed ? 2 : 8;  // one of so many
  EXPECT_LE(open.refused * refused_share, open.schemas + 40) << report;
  std::cout << report;  // tidy-allow print: how much is refused is to be seen
}

INSTANTIATE_TEST_SUITE_P(All, KeywordFuzz, ::testing::Range(0, kFamilies), [](const auto& test) {
  return std::string(family_name(static_cast<Family>(test.param)));
});

}  // namespace
}  // namespace windrow::keywords
