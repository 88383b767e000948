// Search by words and by vectors as SqliteBankStore does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "memory/bank/testing/bank_fixture.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using testing::fact;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::vector<float> unit_vector(Random& random, size_t size) {
  std::vector<float> vector(size);
  float square = 0;
  for (float& part : vector) {
    part = static_cast<float>(random.unit() - 0.5);
    square += part * part;
  }
  for (float& part : vector)
    part /= std::sqrt(square);
  return vector;
}

class SqliteSearchTest : public testing::BankTest {
 protected:
  std::vector<std::string> matching(std::string_view text, const SearchFilter& filter = {},
                                    int32_t hits_max = 10) {
    return texts(store().matching(text, filter, hits_max));
  }

  std::vector<std::string> nearest(const std::vector<float>& vector,
                                   const SearchFilter& filter = {}, int32_t hits_max = 10) {
    return texts(store().nearest(vector, filter, hits_max));
  }

  NewFact with_vector(std::string text, std::vector<std::string> tags,
                      std::vector<float> embedding) {
    NewFact made = fact(std::move(text), std::move(tags));
    made.embedding = std::move(embedding);
    return made;
  }

 private:
  std::vector<std::string> texts(const Result<std::vector<Hit>>& hits) {
    EXPECT_TRUE(hits) << hits.error().message;
    std::vector<std::string> found;
    double last = std::numeric_limits<double>::infinity();
    for (const Hit& hit : *hits) {
      EXPECT_LE(hit.score, last) << "best first";
      last = hit.score;
      found.push_back(store().memory(hit.id)->text);
    }
    return found;
  }
};

// --- words ------------------------------------------------------------------------------------

TEST_F(SqliteSearchTest, WordsAreFoundInAnyFormAndOrder) {
  NewFact in_context = fact("She went home.", {});
  in_context.context = "talk about gardens";
  (void)retained({fact("Ana likes walking in the old garden", {}),
                  fact("The garden is old and the garden is green", {}),
                  fact("Bo drinks coffee", {}), in_context, fact("Caf\xC3\xA9 culture", {})});
  EXPECT_THAT(matching("gardens"),
              UnorderedElementsAre("The garden is old and the garden is green",
                                   "Ana likes walking in the old garden", "She went home."));
  EXPECT_THAT(matching("WALKED"), ElementsAre("Ana likes walking in the old garden"));
  EXPECT_THAT(matching("cafe"), ElementsAre("Caf\xC3\xA9 culture"));
  EXPECT_THAT(matching("coffee or green").front(), "Bo drinks coffee");
  EXPECT_THAT(matching("tea"), IsEmpty());
  EXPECT_THAT(matching(""), IsEmpty());
  EXPECT_THAT(matching("\"; DROP TABLE memories; --"), IsEmpty());
  EXPECT_THAT(matching("garden", {}, 1), SizeIs(1));
  EXPECT_THAT(matching("garden", {}, 0), IsEmpty());
  const std::vector<Hit> hits = *store().matching("garden", {}, 9);
  EXPECT_GT(hits.front().score, 0);
}

TEST_F(SqliteSearchTest, TextsWithoutSpacesAreFound) {
  const std::string cat = "\xE7\x8C\xAB\xE3\x81\x8C\xE5\xA5\xBD\xE3\x81\x8D";  // likes cats
  const std::string tea = "\xE3\x81\x8A\xE8\x8C\xB6\xE3\x81\x8C\xE5\xA5\xBD\xE3\x81\x8D";
  (void)retained({fact(cat, {}), fact(tea, {})});
  EXPECT_THAT(matching("\xE7\x8C\xAB"), ElementsAre(cat));
  EXPECT_THAT(matching("\xE5\xA5\xBD\xE3\x81\x8D"), UnorderedElementsAre(cat, tea));
  EXPECT_THAT(matching("\xE3\x81\x8A\xE8\x8C\xB6"), ElementsAre(tea));
  EXPECT_THAT(matching("\xE3\x81\x8D"), UnorderedElementsAre(cat, tea)) << "the last character";
  EXPECT_THAT(matching("\xE7\x8A\xAC"), IsEmpty());
}

TEST_F(SqliteSearchTest, FiltersHoldForWords) {
  NewFact own = fact("tea for me", {"x"});
  own.type = MemoryType::kExperience;
  const MemoryId first = retained_one(fact("tea", {"x", "y"}));
  (void)retained({own, fact("tea for all", {})});
  (void)observed("tea again", Scope({"x", "y"}), {first});
  EXPECT_THAT(matching("tea"), SizeIs(4));
  EXPECT_THAT(matching("tea", {.types = {MemoryType::kExperience}}), ElementsAre("tea for me"));
  EXPECT_THAT(matching("tea", {.types = {MemoryType::kObservation, MemoryType::kWorld},
                               .tags = {.tags = Tags({"x"}), .match = TagsMatch::kAllStrict}}),
              UnorderedElementsAre("tea", "tea again"));
  EXPECT_THAT(
      matching("tea", {.types = {}, .tags = {.tags = Tags({"x"}), .match = TagsMatch::kExact}}),
      ElementsAre("tea for me"));
  EXPECT_THAT(
      matching("tea", {.types = {}, .tags = {.tags = Tags({"z"}), .match = TagsMatch::kAnyStrict}}),
      IsEmpty());
  (void)retained_one(fact("tea late", {"z"}));
  EXPECT_THAT(
      matching("tea", {.types = {}, .tags = {.tags = Tags({"z"}), .match = TagsMatch::kAnyStrict}}),
      ElementsAre("tea late"))
      << "a new set of tags is known at once";
}

TEST_F(SqliteSearchTest, OfALongTextTheRarestTermsCount) {
  std::vector<NewFact> facts;
  std::string common;
  for (int i = 0; i < 30; ++i)
    common += "common" + std::to_string(i) + " ";
  for (int i = 0; i < 20; ++i)
    facts.push_back(fact(common, {}));
  facts.push_back(fact("the zebra", {}));
  (void)retained(std::move(facts));
  const std::vector<std::string> found =
      matching(common + "zebra and forty words that no memory has", {}, 30);
  ASSERT_THAT(found, SizeIs(21));
  EXPECT_EQ(found.front(), "the zebra");
}

// --- vectors ----------------------------------------------------------------------------------

TEST_F(SqliteSearchTest, TheNearestVectorsAreFoundInStepWithChanges) {
  EXPECT_THAT(nearest({1, 0}), IsEmpty()) << "a bank without vectors takes any length";
  const MemoryId a = retained_one(with_vector("a", {"x"}, {1, 0}));
  const MemoryId b = retained_one(with_vector("b", {}, {0.8F, 0.6F}));
  (void)retained_one(fact("without", {"x"}));
  EXPECT_THAT(nearest({1, 0}), ElementsAre("a", "b"));
  EXPECT_THAT(nearest({0, 1}), ElementsAre("b", "a"));
  EXPECT_THAT(nearest({1, 0}, {}, 1), ElementsAre("a"));
  const std::vector<Hit> hits = *store().nearest(std::vector<float>{1, 0}, {}, 5);
  EXPECT_NEAR(hits.at(1).score, 0.8, 1e-5);
  EXPECT_THAT(
      nearest({1, 0}, {.types = {}, .tags = {.tags = Tags({"x"}), .match = TagsMatch::kAnyStrict}}),
      ElementsAre("a"));
  EXPECT_THAT(nearest({1, 0}, {.types = {MemoryType::kExperience}, .tags = {}}), IsEmpty());
  const Result<std::vector<Hit>> wrong = store().nearest(std::vector<float>{1, 0, 0}, {}, 5);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("has 3 numbers, and those of this bank have 2"));

  // Each kind of change, with the index in memory.
  const MemoryId o = observed("o", Scope({"x"}), {a});
  EXPECT_THAT(nearest({1, 0}), SizeIs(2));
  ASSERT_TRUE(store().set_embeddings(
      std::vector<BankStore::Embedding>{{{o, 1}, std::vector<float>{0.6F, 0.8F}}}));
  EXPECT_THAT(nearest({0, 1}), ElementsAre("o", "b", "a"));
  ASSERT_TRUE(store().edit_memory(
      b,
      [](Memory& memory) -> Result<void> {
        memory.tags = Tags({"y"});
        memory.type = MemoryType::kExperience;
        return {};
      },
      ++now_));
  EXPECT_THAT(nearest({1, 0}, {.types = {MemoryType::kExperience},
                               .tags = {.tags = Tags({"y"}), .match = TagsMatch::kExact}}),
              ElementsAre("b"));
  ASSERT_TRUE(store().edit_memory(
      a,
      [](Memory& memory) -> Result<void> {
        memory.text = "A";
        memory.embedding = {0, 1};
        return {};
      },
      ++now_));
  EXPECT_THAT(nearest({0, 1}), ElementsAre("A", "b")) << "the observation went with its source";
  ASSERT_TRUE(store().clear(MemoryType::kExperience, ++now_));
  EXPECT_THAT(nearest({0, 1}), ElementsAre("A"));
  file_.reopen();
  EXPECT_THAT(nearest({0, 1}), ElementsAre("A"));
  ASSERT_TRUE(store().clear({}, ++now_));
  EXPECT_THAT(nearest({0, 1}), IsEmpty());
}

// Threads add, change and remove vectors while others search. Afterwards the index has what the
// file has: the store opened anew finds the same.
TEST_F(SqliteSearchTest, TheIndexNeverDisagreesWithTheFile) {
  constexpr size_t kSize = 8;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Random random(t);
        std::vector<MemoryId> mine;
        for (int i = 0; i < 60; ++i) {
          if (mine.size() > 4 && random.chance(0.5)) {
            const MemoryId id = mine[random.below(mine.size())];
            const Result<Memory> edited = store().edit_memory(
                id,
                [&](Memory& memory) -> Result<void> {
                  if (random.chance(0.3))
                    memory.invalidated = 1;
                  else
                    memory.invalidated.reset();
                  memory.embedding = unit_vector(random, kSize);
                  return {};
                },
                i);
            if (!edited) ++wrong;
            continue;
          }
          const auto ids =
              store().retain({.facts = {with_vector(std::to_string(i), {std::to_string(t)},
                                                    unit_vector(random, kSize))}},
                             i);
          if (ids)
            mine.push_back(ids->front());
          else
            ++wrong;
        }
      });
    }
    threads.emplace_back([&] {
      Random random(99);
      for (int i = 0; i < 200; ++i) {
        const auto hits = store().nearest(unit_vector(random, kSize),
                                          {.types = {}, .tags = {.tags = Tags({"1"})}}, 5);
        if (!hits && store().bank()->embedding_size != 0) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  Random random(7);
  const std::vector<float> query = unit_vector(random, kSize);
  const auto found = [&] {
    std::vector<std::pair<std::string, double>> hits;
    for (const Hit& hit : *store().nearest(query, {}, 1000))
      hits.emplace_back(hit.id.text, hit.score);
    return hits;
  };
  const auto before = found();
  EXPECT_GT(before.size(), 20U);
  file_.reopen();
  EXPECT_EQ(found(), before);
}

// A search waits for no writer: it answers while a transaction is open.
TEST_F(SqliteSearchTest, ASearchAnswersDuringAChange) {
  const MemoryId id = retained_one(with_vector("tea", {}, {1, 0}));
  (void)nearest({1, 0});
  std::vector<std::string> seen;
  ASSERT_TRUE(store().edit_memory(
      id,
      [&](Memory& memory) -> Result<void> {
        memory.text = "coffee";
        std::jthread([&] {
          const auto words = store().matching("tea", {}, 5);
          const auto vectors = store().nearest(std::vector<float>{1, 0}, {}, 5);
          if (words && words->size() == 1) seen.emplace_back("words");
          if (vectors && vectors->size() == 1) seen.emplace_back("vectors");
          if (store().memory(id)->text == "tea") seen.emplace_back("memory");
        }).join();
        return {};
      },
      ++now_));
  EXPECT_THAT(seen, ElementsAre("words", "vectors", "memory"));
  EXPECT_THAT(matching("tea"), IsEmpty());
}

}  // namespace
}  // namespace windrow::memory
