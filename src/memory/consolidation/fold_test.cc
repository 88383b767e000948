#include "memory/consolidation/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Memory fact(const std::string& id, const std::string& text) {
  return {.id = {id}, .text = text};
}

std::vector<std::string> shown_in(const FoldedBatch& batch) {
  std::vector<std::string> ids;
  for (const Memory& one : batch.shown)
    ids.push_back(one.id.text);
  return ids;
}

TEST(Fold, ShowsTheLastFactOfEachTextAndKeepsTheOthersAsSources) {
  const std::vector<Memory> facts = {fact("1", "Tom is 9."), fact("2", "Mara sings."),
                                     fact("3", " Tom  is 9.\n"), fact("4", "Tom is 9.")};
  const FoldedBatch batch = fold(facts, {}, {});
  EXPECT_THAT(shown_in(batch), ElementsAre("2", "4"));
  EXPECT_EQ(batch.shown[1].text, "Tom is 9.");
  EXPECT_THAT(batch.folded,
              ElementsAre(Pair(MemoryId{"4"}, ElementsAre(MemoryId{"1"}, MemoryId{"3"}))));
  EXPECT_THAT(batch.repeated, IsEmpty());
}

TEST(Fold, CaseMatters) {
  const std::vector<Memory> facts = {fact("1", "He uses TLS."), fact("2", "He uses tls.")};
  EXPECT_THAT(shown_in(fold(facts, {}, {})), ElementsAre("1", "2"));
}

class FoldRepeated : public ::testing::Test {
 protected:
  FoldedBatch fold_all(const std::vector<Memory>& facts) const {
    return fold(facts, repeated_, known_);
  }

  const std::vector<Memory> known_ = {fact("k", "Tom is 9."), fact("l", "Ann runs.")};
  const std::vector<BankStore::Repeated> repeated_ = {{.fact = {"k"}, .observation = {"o"}},
                                                      {.fact = {"k"}, .observation = {"p"}},
                                                      {.fact = {"l"}, .observation = {"q"}},
                                                      {.fact = {"gone"}, .observation = {"r"}}};
};

TEST_F(FoldRepeated, JoinsItsObservationUnseen) {
  const FoldedBatch batch =
      fold_all({fact("1", "Tom  is 9."), fact("2", "Tom is 9."), fact("3", "Mara sings.")});
  EXPECT_THAT(shown_in(batch), ElementsAre("3"));
  EXPECT_THAT(batch.folded, IsEmpty());
  EXPECT_THAT(batch.repeated,
              ElementsAre(Pair(MemoryId{"o"}, ElementsAre(MemoryId{"1"}, MemoryId{"2"}))));
}

TEST_F(FoldRepeated, IsShownBehindAFactThatMightChangeItsObservation) {
  const FoldedBatch batch =
      fold_all({fact("1", "Ann runs."), fact("2", "Tom is 10."), fact("3", "Tom is 9."),
                fact("4", "Ann runs."), fact("5", "Tom is 9.")});
  EXPECT_THAT(shown_in(batch), ElementsAre("2", "4", "5"));
  EXPECT_THAT(batch.folded, ElementsAre(Pair(MemoryId{"5"}, ElementsAre(MemoryId{"3"}))));
  EXPECT_THAT(batch.repeated, ElementsAre(Pair(MemoryId{"q"}, ElementsAre(MemoryId{"1"}))));
}

Memory observation(const std::string& id, std::vector<float> embedding) {
  return {.id = {id}, .type = MemoryType::kObservation, .embedding = std::move(embedding)};
}

TEST(TwinOf, IsTheNearestOtherOneAtOrAboveTheThreshold) {
  const Memory one = observation("1", {1, 0});
  const std::vector<Memory> all = {
      one, observation("far", {0, 1}), observation("near", {0.8F, 0.6F}),
      observation("nearer", {0.96F, 0.28F}), observation("as near", {0.96F, -0.28F})};
  EXPECT_EQ(twin_of(one, all, 0.7), MemoryId{"nearer"});
  EXPECT_EQ(twin_of(one, all, 0.97), std::nullopt);
  EXPECT_EQ(twin_of(observation("2", {0, 1}), all, 0.999), MemoryId{"far"});
}

TEST(TwinOf, AThresholdOfOneFindsNoneNotEvenAnEqualOne) {
  const Memory one = observation("1", {1, 0});
  const std::vector<Memory> all = {observation("2", {1, 0})};
  EXPECT_EQ(twin_of(one, all, 0.97), MemoryId{"2"});
  EXPECT_EQ(twin_of(one, all, 1.0), std::nullopt);
}

TEST(TwinOf, ThereIsNoneWithoutEmbeddingsOrOfOtherLengths) {
  const std::vector<Memory> all = {observation("none", {}), observation("longer", {1, 0, 0})};
  EXPECT_EQ(twin_of(observation("1", {}), all, 0.5), std::nullopt);
  EXPECT_EQ(twin_of(observation("1", {1, 0}), all, 0.5), std::nullopt);
}

}  // namespace
}  // namespace windrow::memory
