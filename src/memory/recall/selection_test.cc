#include "memory/recall/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Memory fact(std::string id, size_t length) {
  return {.id = {std::move(id)}, .text = std::string(length, 'x')};
}

Memory observation(std::string id, size_t length, const std::vector<std::string>& sources) {
  Memory memory = fact(std::move(id), length);
  memory.type = MemoryType::kObservation;
  for (const std::string& source : sources)
    memory.sources.push_back({source});
  return memory;
}

// Each byte of a text is one token.
Selection selection(int64_t tokens_max, bool prefer_observations = false) {
  return Selection(
      {.tokens_max = tokens_max,
       .prefer_observations = prefer_observations,
       .count_tokens = [](std::string_view text) { return static_cast<int64_t>(text.size()); }});
}

std::vector<std::string> ids_of(const Selection& chosen) {
  std::vector<std::string> ids;
  for (const MemoryId& id : chosen.selected())
    ids.push_back(id.text);
  return ids;
}

TEST(Selection, EndsWithTheFirstThatDoesNotFit) {
  Selection chosen = selection(10);
  EXPECT_TRUE(chosen.offer(fact("a", 6)));
  EXPECT_TRUE(chosen.offer(fact("b", 4)));
  EXPECT_FALSE(chosen.offer(fact("c", 1)));
  EXPECT_THAT(ids_of(chosen), ElementsAre("a", "b"));
  EXPECT_EQ(chosen.tokens(), 10);
}

TEST(Selection, WithoutTokensIsEmpty) {
  Selection chosen = selection(0);
  EXPECT_FALSE(chosen.offer(fact("a", 1)));
  EXPECT_THAT(ids_of(chosen), IsEmpty());
}

TEST(Selection, KeepsFactsBesideTheirObservationUnlessItIsPreferred) {
  Selection chosen = selection(100);
  chosen.offer(fact("a", 1));
  chosen.offer(observation("o", 1, {"a", "b"}));
  chosen.offer(fact("b", 1));
  EXPECT_THAT(ids_of(chosen), ElementsAre("a", "o", "b"));
}

TEST(Selection, APreferredObservationTakesThePlaceOfItsFacts) {
  Selection chosen = selection(100, true);
  chosen.offer(fact("a", 10));
  chosen.offer(fact("other", 10));
  chosen.offer(observation("o", 5, {"a", "b"}));
  chosen.offer(fact("b", 10));
  EXPECT_THAT(ids_of(chosen), ElementsAre("other", "o"));
  EXPECT_EQ(chosen.tokens(), 15);
}

TEST(Selection, AFactKeepsItsPlaceIfTheObservationDoesNotFit) {
  Selection chosen = selection(12, true);
  EXPECT_TRUE(chosen.offer(fact("a", 5)));
  EXPECT_TRUE(chosen.offer(fact("other", 5)));
  EXPECT_FALSE(chosen.offer(observation("o", 8, {"a"})));
  EXPECT_THAT(ids_of(chosen), ElementsAre("a", "other"));
}

TEST(Selection, APreferredObservationUsesTheRoomOfItsFacts) {
  Selection chosen = selection(10, true);
  EXPECT_TRUE(chosen.offer(fact("a", 8)));
  EXPECT_TRUE(chosen.offer(observation("o", 9, {"a"})));
  EXPECT_THAT(ids_of(chosen), ElementsAre("o"));
}

}  // namespace
}  // namespace windrow::memory
