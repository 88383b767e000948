#include "memory/consolidation/scope_recall.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A vector of length 1 in this direction.
std::vector<float> direction(double degrees) {
  const double radians = degrees / 180 * 3.14159265358979;
  return {static_cast<float>(std::cos(radians)), static_cast<float>(std::sin(radians))};
}

Memory memory(const std::string& id, const std::string& text, std::vector<float> embedding = {}) {
  return {.id = {id}, .text = text, .embedding = std::move(embedding)};
}

int64_t words_in(std::string_view text) {
  return 1 + std::ranges::count(text, ' ');
}

class RecallInScope : public ::testing::Test {
 protected:
  std::vector<std::string> recall() {
    shown_ = recall_in_scope(facts_, observations_, options_, words_in);
    std::vector<std::string> ids;
    for (const ShownObservation& one : shown_)
      ids.push_back(one.observation.id.text);
    return ids;
  }

  std::vector<std::string> recalled_for(size_t shown) const {
    std::vector<std::string> ids;
    for (const MemoryId& id : shown_.at(shown).recalled_for)
      ids.push_back(id.text);
    return ids;
  }

  std::vector<Memory> facts_;
  std::vector<Memory> observations_;
  ScopeRecallOptions options_;
  std::vector<ShownObservation> shown_;
};

TEST_F(RecallInScope, AnEmptyScopeShowsNothing) {
  facts_ = {memory("f", "Tom sings.", direction(0))};
  EXPECT_THAT(recall(), IsEmpty());
}

TEST_F(RecallInScope, InterleavesTheRankingsByCosineAndByWords) {
  facts_ = {memory("f", "Tom sings loudly.", direction(0))};
  observations_ = {memory("far", "unrelated", direction(80)),
                   memory("sings", "Ann sings loudly.", direction(70)),
                   memory("near", "a song of his", direction(10)),
                   memory("nearest", "his voice", direction(5)),
                   memory("tom", "Tom sleeps here now.", direction(60))};
  EXPECT_THAT(recall(), ElementsAre("nearest", "sings", "near", "tom", "far"));
}

TEST_F(RecallInScope, ARareWordSaysMoreThanAFrequentOne) {
  facts_ = {memory("f", "The kazoo of Tom")};
  observations_ = {memory("1", "Tom runs"), memory("2", "Tom sits"), memory("3", "Tom waits"),
                   memory("4", "A kazoo")};
  EXPECT_THAT(recall(), ElementsAre("4", "1", "2", "3"));
}

TEST_F(RecallInScope, WordsAreComparedWithoutCaseAndPunctuation) {
  facts_ = {memory("f", "MÜLLER-Straße 7: Tom's (flat)")};
  observations_ = {memory("other", "nothing at all"), memory("flat", "\"FLAT\", he said"),
                   memory("seven", "seven is 7")};
  EXPECT_THAT(recall(), ElementsAre("flat", "seven", "other"));
}

TEST_F(RecallInScope, InScriptsWithoutBlanksEachCharacterIsAWord) {
  facts_ = {memory("f", "東京に住む")};
  observations_ = {memory("osaka", "大阪の人"), memory("tokyo", "東京の人")};
  EXPECT_THAT(recall(), ElementsAre("tokyo", "osaka"));
}

TEST_F(RecallInScope, TextThatIsNoUtf8IsReadAroundItsBadBytes) {
  facts_ = {memory("f", "Tom \xFF sings")};
  observations_ = {memory("1", "Ann \xC3"), memory("2", "\xFFTom")};
  EXPECT_THAT(recall(), ElementsAre("2", "1"));
}

TEST_F(RecallInScope, ObservationsWithoutAnEmbeddingComeFirst) {
  facts_ = {memory("f", "Tom sings.", direction(0))};
  observations_ = {memory("near", "his voice", direction(1)), memory("fresh", "something new"),
                   memory("fresh of tom", "Tom hums"), memory("far", "Tom sings.", direction(90))};
  EXPECT_THAT(recall(), ElementsAre("fresh of tom", "fresh", "near", "far"));
}

TEST_F(RecallInScope, AnEmbeddingOfAnotherLengthIsNone) {
  facts_ = {memory("f", "x", direction(0))};
  observations_ = {memory("near", "a", direction(1)), memory("other model", "b", {1, 0, 0})};
  EXPECT_THAT(recall(), ElementsAre("other model", "near"));
}

TEST_F(RecallInScope, AFactWithoutAnEmbeddingRanksAllByWordsTheOldestFirst) {
  facts_ = {memory("f", "Tom sings")};
  observations_ = {memory("1", "a", direction(0)), memory("2", "b"), memory("3", "Tom sings"),
                   memory("4", "c")};
  EXPECT_THAT(recall(), ElementsAre("3", "1", "2", "4"));
}

TEST_F(RecallInScope, StopsAtTheFirstObservationThatIsTooMuch) {
  facts_ = {memory("f", "x", direction(0))};
  observations_ = {memory("1", "one two", direction(1)), memory("2", "one two three", direction(2)),
                   memory("3", "one", direction(3))};
  options_.tokens_max = 5;
  EXPECT_THAT(recall(), ElementsAre("1", "2"));
  options_.tokens_max = 4;
  EXPECT_THAT(recall(), ElementsAre("1"));
}

TEST_F(RecallInScope, TheBestOneIsShownHoweverLongItIs) {
  facts_ = {memory("f", "x", direction(0))};
  observations_ = {memory("1", "one two three four", direction(1)), memory("2", "a", direction(2))};
  for (const int64_t tokens_max : {0, 2}) {
    options_.tokens_max = tokens_max;
    EXPECT_THAT(recall(), ElementsAre("1"));
  }
}

TEST_F(RecallInScope, SaysForWhichFactsAnObservationWasRecalled) {
  facts_ = {memory("f", "x", direction(0)), memory("g", "y", direction(90)),
            memory("h", "z", direction(40))};
  observations_ = {memory("up", "a b", direction(90)), memory("right", "a b", direction(0)),
                   memory("middle", "a b", direction(44))};
  options_.tokens_max = 4;
  EXPECT_THAT(recall(), ElementsAre("right", "middle", "up"));
  EXPECT_THAT(recalled_for(0), ElementsAre("f", "h"));
  EXPECT_THAT(recalled_for(1), ElementsAre("f", "g", "h"));
  EXPECT_THAT(recalled_for(2), ElementsAre("g"));
}

TEST_F(RecallInScope, WhereTheNumberIsBoundedTheFactsTakeTurns) {
  facts_ = {memory("f", "x", direction(0)), memory("g", "y", direction(90))};
  observations_ = {memory("f1", "a", direction(1)), memory("f2", "b", direction(2)),
                   memory("f3", "c", direction(3)), memory("g1", "d", direction(91))};
  options_.shown_max = 2;
  EXPECT_THAT(recall(), ElementsAre("f1", "g1"));
  EXPECT_THAT(recalled_for(0), ElementsAre("f", "g"));
  options_.shown_max = 0;
  EXPECT_THAT(recall(), IsEmpty());
}

TEST_F(RecallInScope, WhereTheNumberIsBoundedNewObservationsLeaveRoomForNearOnes) {
  facts_ = {memory("f", "x", direction(0))};
  observations_ = {memory("new1", "a"), memory("new2", "b"), memory("new3", "c"),
                   memory("near", "d", direction(1))};
  options_.shown_max = 2;
  EXPECT_THAT(recall(), ElementsAre("new1", "near"));
}

TEST_F(RecallInScope, CountsTheTokensOfAnObservationOnce) {
  facts_ = {memory("f", "x", direction(0)), memory("g", "y", direction(1))};
  observations_ = {memory("1", "a", direction(0)), memory("2", "b", direction(3))};
  int counted = 0;
  recall_in_scope(facts_, observations_, options_, [&counted](std::string_view) {
    ++counted;
    return 1;
  });
  EXPECT_EQ(counted, 2);
}

// Of a whole scope that fits, everything is shown, and equal input gives equal output.
TEST_F(RecallInScope, ShowsEachObservationOnceForEachFact) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const auto random_memory = [&random](const char* name, int64_t number) {
      const auto angle = static_cast<double>(random.below(8) * 10);
      return memory(fmt::format("{}{}", name, number),
                    fmt::format("w{} w{}", random.below(4), random.below(4)),
                    random.chance(0.8) ? direction(angle) : std::vector<float>());
    };
    facts_.clear();
    observations_.clear();
    for (int64_t i = random.between(1, 5); i > 0; --i)
      facts_.push_back(random_memory("f", i));
    for (int64_t i = random.between(0, 12); i > 0; --i)
      observations_.push_back(random_memory("o", i));
    const std::vector<std::string> all = recall();
    EXPECT_EQ(all.size(), observations_.size());
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
    for (const ShownObservation& one : shown_)
      EXPECT_EQ(one.recalled_for.size(), facts_.size());
    EXPECT_EQ(recall(), all);
    options_.shown_max = static_cast<int32_t>(random.below(12));
    EXPECT_EQ(recall().size(), std::min(all.size(), static_cast<size_t>(options_.shown_max)));
    options_.shown_max = 100;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace windrow::memory
