#include "session/rows/packed_ints_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/text_encoding.h"

namespace windrow::session {
namespace {

std::string text_of(const std::vector<int32_t>& values) {
  std::string text;
  append_base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t)},
                text);
  return text;
}

std::vector<int32_t> all_of(const PackedInts& packed) {
  std::vector<int32_t> values(packed.size());
  packed.read(0, values);
  return values;
}

// What is decoded of the pieces of a text, where each is whole.
std::optional<std::vector<int32_t>> decoded(const std::vector<std::string_view>& pieces,
                                            uint64_t skipped = 0) {
  PackedInts packed;
  PackedIntsDecoder decoder(packed, skipped);
  for (const std::string_view piece : pieces)
    if (!decoder.take(piece)) {
      EXPECT_FALSE(decoder.is_whole());
      EXPECT_FALSE(decoder.take("AAAA")) << "nothing after a failure";
      return std::nullopt;
    }
  if (!decoder.is_whole()) return std::nullopt;
  EXPECT_EQ(packed.size(), decoder.values() - std::min(skipped, decoder.values()));
  return all_of(packed);
}

std::vector<std::string_view> cut(Random& random, std::string_view text, size_t bytes_max) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    pieces.push_back(text.substr(0, random.below(bytes_max + 1)));
    text.remove_prefix(pieces.back().size());
  }
  return pieces;
}

TEST(PackedIntsDecoder, DecodesTheNumbersOfAText) {
  // From the tests of the trainers' reference server: 0 to 23.
  const std::vector<int32_t> values = *decoded(
      {"AAAAAAEAAAACAAAAAwAAAAQAAAAFAAAABgAAAAcAAAAIAAAACQAAAAoAAAALAAAADAAAAA0AAAAOAAAADwAA"
       "ABAAAAARAAAAEgAAABMAAAAUAAAAFQAAABYAAAAXAAAA"});
  ASSERT_EQ(values.size(), 24U);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], static_cast<int32_t>(i));
  EXPECT_EQ(decoded({text_of({-1, -2'147'483'648, 2'147'483'647})}),
            (std::vector<int32_t>{-1, -2'147'483'648, 2'147'483'647}));
  EXPECT_EQ(decoded({}), std::vector<int32_t>{});
  EXPECT_EQ(decoded({""}), std::vector<int32_t>{});
}

TEST(PackedIntsDecoder, AnyPiecesAndAnySkippingGiveTheRestOfTheWhole) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<int32_t> values(random.below(random.chance(0.05) ? 60'000 : 60));
    for (int32_t& value : values)
      value = static_cast<int32_t>(random.between(-300, 300));
    const std::string text = text_of(values);
    const uint64_t skipped = random.below(values.size() + 5);
    const std::vector<std::string_view> pieces =
        cut(random, text, random.chance(0.5) ? 7 : text.size() + 1);
    const auto begin =
        values.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(skipped, values.size()));
    EXPECT_EQ(decoded(pieces, skipped), std::vector<int32_t>(begin, values.end())) << skipped;

    PackedInts packed;
    PackedIntsDecoder decoder(packed, skipped);
    for (const std::string_view piece : pieces)
      ASSERT_TRUE(decoder.take(piece));
    EXPECT_EQ(decoder.values(), values.size()) << "skipped: " << skipped;
  }
}

TEST(PackedIntsDecoder, AppendsToWhatIsThere) {
  PackedInts packed;
  packed.append(std::vector<int32_t>{9});
  PackedIntsDecoder decoder(packed, 1);
  EXPECT_TRUE(decoder.take(text_of({1, 2, 3})));
  EXPECT_EQ(all_of(packed), (std::vector<int32_t>{9, 2, 3}));
}

TEST(PackedIntsDecoder, RefusesMalformedTexts) {
  for (const std::string_view text : {
           "AAAA",          // 3 bytes
           "AAAAA",         // no whole group
           "AAAAA===",      // too much padding
           "AAAA*A==",      // not of the alphabet
           "AAAAAA==AAAA",  // behind the padding
           "AAA\nAAA==",
           "AA==",
           "====",
       }) {
    for (const uint64_t skipped : {0U, 1U, 2U, 3U, 100U}) {
      // Of what is skipped, characters are not looked at.
      if (skipped > 0 && (text.find_first_of("*\n") != std::string_view::npos)) continue;
      EXPECT_EQ(decoded({text}, skipped), std::nullopt) << text << " skipping " << skipped;
      std::vector<std::string_view> characters;
      for (size_t i = 0; i < text.size(); ++i)
        characters.push_back(text.substr(i, 1));
      EXPECT_EQ(decoded(characters, skipped), std::nullopt) << text << " skipping " << skipped;
    }
  }
}

TEST(PackedIntsDecoder, ATextThatEndsWithinWhatIsSkippedSaysHowMuchItHad) {
  PackedInts packed;
  PackedIntsDecoder decoder(packed, 10);
  EXPECT_TRUE(decoder.take(text_of({1, 2, 3, 4})));
  EXPECT_TRUE(decoder.is_whole());
  EXPECT_EQ(decoder.values(), 4U);
  EXPECT_EQ(packed.size(), 0U);
}

}  // namespace
}  // namespace windrow::session
