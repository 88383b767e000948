#include "engine/manager/early_holds.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace windrow::engine {
namespace {

// Holds that began and have not been released.
struct Kept {
  class Hold final : public llm::PrefixHold {
   public:
    explicit Hold(int& count) : count_(count) { ++count_; }
    ~Hold() override { --count_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    int& count_;
  };

  EarlyHolds::Make make() {
    return [this](std::vector<Token> tokens) {
      prefixes.push_back(std::move(tokens));
      return std::make_unique<Hold>(count);
    };
  }

  std::vector<std::vector<Token>> prefixes;
  int count = 0;
};

TEST(EarlyHolds, BeginWhenTheyAreStartedAndEndWithTheirOwner) {
  Kept kept;
  EarlyHolds early;
  auto first = early.hold({1, 2});
  const auto second = early.hold({3});
  EXPECT_EQ(kept.count, 0);
  early.start(kept.make());
  EXPECT_TRUE(early.empty());
  EXPECT_EQ(kept.prefixes, (std::vector<std::vector<Token>>{{1, 2}, {3}}));
  EXPECT_EQ(kept.count, 2);
  first.reset();
  EXPECT_EQ(kept.count, 1);
  early.start(kept.make());
  EXPECT_EQ(kept.count, 1) << "each begins once";
}

TEST(EarlyHolds, WhatWasReleasedBeforeNeverBegins) {
  Kept kept;
  EarlyHolds early;
  early.hold({1}).reset();
  const auto other = early.hold({2});
  early.start(kept.make());
  EXPECT_EQ(kept.prefixes, (std::vector<std::vector<Token>>{{2}}));
}

TEST(EarlyHolds, OfNothingIsNone) {
  EarlyHolds early;
  EXPECT_EQ(early.hold({}), nullptr);
  EXPECT_TRUE(early.empty());
}

TEST(EarlyHolds, ManyThatAreReleasedDoNotPileUp) {
  Kept kept;
  EarlyHolds early;
  const auto held = early.hold({7});
  for (int i = 0; i < 1000; ++i)
    early.hold({i});
  early.start(kept.make());
  EXPECT_EQ(kept.prefixes, (std::vector<std::vector<Token>>{{7}}));
}

TEST(EarlyHolds, OutliveWhoGaveThem) {
  Kept kept;
  std::unique_ptr<llm::PrefixHold> held;
  {
    EarlyHolds early;
    held = early.hold({1});
    early.start(kept.make());
  }
  EXPECT_EQ(kept.count, 1);
  held.reset();
  EXPECT_EQ(kept.count, 0);
}

}  // namespace
}  // namespace windrow::engine
