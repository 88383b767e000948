#include "memory/retain/chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Texts = std::vector<std::string>;

TEST(Chunks, AShortTextIsOneWithoutBlanksAround) {
  EXPECT_THAT(chunks_of("  Mint grows.\n", 100), ElementsAre("Mint grows."));
  EXPECT_THAT(chunks_of("exact", 5), ElementsAre("exact"));
  EXPECT_THAT(chunks_of(" \n\t ", 5), IsEmpty());
}

TEST(Chunks, AreCutAtParagraphsThenSentencesThenWords) {
  EXPECT_THAT(chunks_of("One. Two three.\n\nFour five six. Seven.", 25),
              ElementsAre("One. Two three.", "Four five six. Seven."));
  EXPECT_THAT(chunks_of("One two three. Four five six.", 20),
              ElementsAre("One two three.", "Four five six."));
  EXPECT_THAT(chunks_of("one two three four", 9), ElementsAre("one two", "three", "four"));
  EXPECT_THAT(chunks_of("abcdefgh", 3), ElementsAre("abc", "def", "gh"));
}

TEST(Chunks, CountCharactersAndNeverCutOne) {
  EXPECT_THAT(chunks_of("ääöö", 2), ElementsAre("ää", "öö"));
  EXPECT_THAT(chunks_of("猫が好き。犬も好き。", 6), ElementsAre("猫が好き。", "犬も好き。"));
}

TEST(Chunks, WhatIsAddedAtTheEndChangesNoPieceButTheLast) {
  const std::string text = "First sentence here. Second sentence here. Third one.";
  const Texts before = chunks_of(text, 25);
  const Texts after = chunks_of(text + " Fourth one, which is new. And the fifth.", 25);
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end() - 1, after.begin()));
}

TEST(Chunks, OfRandomTextsKeepEveryWordWithinTheBound) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::string text;
    for (uint64_t i = random.below(300); i > 0; --i) {
      constexpr std::string_view kParts[] = {"a", "bc", "é",  "猫",   ".",
                                             " ", " ",  "\n", "\n\n", "!"};
      text += kParts[random.below(std::size(kParts))];
    }
    const auto characters_max = static_cast<int32_t>(random.between(1, 40));
    std::string together;
    for (const std::string& chunk : chunks_of(text, characters_max)) {
      const auto characters = code_points(chunk);
      ASSERT_TRUE(characters.has_value());
      EXPECT_FALSE(characters->empty());
      EXPECT_LE(characters->size(), static_cast<size_t>(characters_max));
      together += chunk;
    }
    const auto is_blank = [](char letter) { return letter == ' ' || letter == '\n'; };
    std::erase_if(text, is_blank);
    std::erase_if(together, is_blank);
    EXPECT_EQ(together, text);
  }
}

std::vector<Chunk> stored(const Texts& texts) {
  const DocumentDelta delta = replaced("b", "d", {}, texts);
  std::vector<Chunk> chunks;
  for (const AddedChunk& added : delta.added)
    chunks.push_back(added.chunk);
  return chunks;
}

Texts added_ids(const DocumentDelta& delta) {
  Texts ids;
  for (const AddedChunk& added : delta.added)
    ids.push_back(added.chunk.id);
  return ids;
}

TEST(DocumentDelta, OfANewDocumentAddsAll) {
  const DocumentDelta delta = replaced("b", "d", {}, Texts{"one", "two"});
  EXPECT_THAT(added_ids(delta), ElementsAre("b_d_0", "b_d_1"));
  EXPECT_EQ(delta.added[1].chunk.text, "two");
  EXPECT_EQ(delta.added[1].chunk.index, 1);
  EXPECT_THAT(delta.gone, IsEmpty());
}

TEST(DocumentDelta, TextsThatStayKeepTheirChunk) {
  const std::vector<Chunk> before = stored({"one", "two", "three"});
  const DocumentDelta same = replaced("b", "d", before, Texts{"one", "two", "three"});
  EXPECT_THAT(same.added, IsEmpty());
  EXPECT_THAT(same.gone, IsEmpty());

  const DocumentDelta edited = replaced("b", "d", before, Texts{"one", "new", "three"});
  EXPECT_THAT(added_ids(edited), ElementsAre("b_d_1"));
  EXPECT_EQ(edited.added[0].text, 1U);
  EXPECT_THAT(edited.gone, ElementsAre("b_d_1"));
}

TEST(DocumentDelta, ANewChunkTakesNoIndexOfOneThatStays) {
  const DocumentDelta delta =
      replaced("b", "d", stored({"one", "two"}), Texts{"zero", "one", "two"});
  EXPECT_THAT(added_ids(delta), ElementsAre("b_d_2"));
  EXPECT_THAT(delta.gone, IsEmpty());
}

TEST(DocumentDelta, ARepeatedTextIsCounted) {
  const std::vector<Chunk> before = stored({"same", "same"});
  EXPECT_THAT(replaced("b", "d", before, Texts{"same"}).gone.size(), 1U);
  EXPECT_THAT(added_ids(replaced("b", "d", before, Texts{"same", "same", "same"})),
              ElementsAre("b_d_2"));
}

TEST(DocumentDelta, AppendingKeepsAll) {
  const DocumentDelta delta = appended("b", "d", stored({"one", "two"}), Texts{"one", "three"});
  EXPECT_THAT(added_ids(delta), ElementsAre("b_d_2", "b_d_3"));
  EXPECT_THAT(delta.gone, IsEmpty());
}

}  // namespace
}  // namespace windrow::memory
