#include "memory/recall/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;

Arm arm(std::string name, const std::vector<std::string>& ids) {
  Arm result{.name = std::move(name)};
  for (const std::string& id : ids)
    result.hits.push_back({.id = {id}, .score = 0.5});
  return result;
}

std::vector<std::string> ids_of(const std::vector<Hit>& hits) {
  std::vector<std::string> ids;
  for (const Hit& hit : hits)
    ids.push_back(hit.id.text);
  return ids;
}

TEST(Fusion, AddsReciprocalRanks) {
  const std::vector<Arm> arms = {arm("semantic", {"a", "b", "c"}), arm("keyword", {"b", "d"})};
  const std::vector<Hit> hits = fused(arms);
  EXPECT_THAT(ids_of(hits), ElementsAre("b", "a", "d", "c"));
  EXPECT_DOUBLE_EQ(hits[0].score, (1.0 / 62 + 1.0 / 61) * 61 / 2);
  EXPECT_DOUBLE_EQ(hits[3].score, 1.0 / 63 * 61 / 2);
}

TEST(Fusion, TheFirstOfEveryArmHasOne) {
  EXPECT_DOUBLE_EQ(fused(std::vector<Arm>{arm("keyword", {"a", "b"})})[0].score, 1.0);
  EXPECT_DOUBLE_EQ(fused(std::vector<Arm>{arm("semantic", {"a"}), arm("keyword", {"a"})})[0].score,
                   1.0);
}

TEST(Fusion, OfEqualScoresTheEarlierArmCounts) {
  EXPECT_THAT(ids_of(fused(std::vector<Arm>{arm("semantic", {"a"}), arm("keyword", {"b"})})),
              ElementsAre("a", "b"));
}

TEST(Fusion, OfNothingIsNothing) {
  EXPECT_TRUE(fused({}).empty());
  EXPECT_TRUE(fused(std::vector<Arm>{arm("keyword", {})}).empty());
}

}  // namespace
}  // namespace windrow::memory
