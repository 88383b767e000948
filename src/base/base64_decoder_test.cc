#include "base/base64_decoder.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"
#include "base/text_encoding.h"

namespace windrow {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  Base64Decoder decoder;
  std::string bytes;
  if (!decoder.decode(text, bytes) || !decoder.is_whole()) return std::nullopt;
  return bytes;
}

// RFC 4648, section 10.
TEST(Base64Decoder, DecodesTheExamplesOfTheStandard) {
  EXPECT_EQ(decoded(""), "");
  EXPECT_EQ(decoded("Zg=="), "f");
  EXPECT_EQ(decoded("Zm8="), "fo");
  EXPECT_EQ(decoded("Zm9v"), "foo");
  EXPECT_EQ(decoded("Zm9vYg=="), "foob");
  EXPECT_EQ(decoded("Zm9vYmE="), "fooba");
  EXPECT_EQ(decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(decoded("+/+/"), "\xFB\xFF\xBF");
  EXPECT_EQ(decoded("Zh=="), "f") << "unused bits are ignored";
}

TEST(Base64Decoder, RefusesWhatIsNoBase64) {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zm9", "=", "====", "Z===", "Zg==Zg==", "Zg==\n", "Zm9v\nZm9v", "Zm-_",
        "Zm9v ", "Zm=v", "Z=9v", "Zm9vZg=v",
        "\xC3\xA4"
        "Zm"}) {
    EXPECT_EQ(decoded(text), std::nullopt) << text;
  }
  Base64Decoder failed;
  std::string bytes;
  EXPECT_FALSE(failed.decode("!!!!", bytes));
  EXPECT_FALSE(failed.decode("Zm9v", bytes)) << "nothing after a failure";
  EXPECT_FALSE(failed.is_whole());
  EXPECT_EQ(bytes, "");
}

TEST(Base64Decoder, AnyPiecesGiveTheSameBytes) {
  constexpr uint64_t kSeed = 20'261'127;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random.below(200), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.below(256));
    std::string text;
    append_base64(bytes, text);
    std::string found = "before";
    Base64Decoder decoder;
    for (size_t from = 0; from < text.size();) {
      const size_t count = std::min<size_t>(random.below(12), text.size() - from);
      ASSERT_TRUE(decoder.decode(std::string_view(text).substr(from, count), found));
      from += count;
    }
    EXPECT_TRUE(decoder.is_whole());
    EXPECT_EQ(found, "before" + bytes);
    if (!text.empty()) {
      text[random.below(text.size())] = '*';
      EXPECT_EQ(decoded(text), std::nullopt);
    }
  }
}

// Each byte, at each place of a text so long that it is decoded in blocks.
TEST(Base64Decoder, EveryCharacterCountsAtEveryPlace) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string before(112, 'A');
  for (size_t place = 0; place < before.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = before;
      text[place] = static_cast<char>(byte);
      const std::optional<std::string> bytes = decoded(text);
      const size_t value = kAlphabet.find(static_cast<char>(byte));
      if (value == std::string_view::npos) {
        const bool is_padding = byte == '=' && place + 1 == before.size();
        EXPECT_EQ(bytes.has_value(), is_padding) << byte << " at " << place;
        continue;
      }
      const size_t bits = value << (18 - 6 * (place % 4));
      std::string expected(before.size() / 4 * 3, '\0');
      for (size_t i = 0; i < 3; ++i)
        expected[place / 4 * 3 + i] = static_cast<char>(bits >> (16 - 8 * i));
      ASSERT_EQ(bytes, expected) << byte << " at " << place;
    }
  }
}

TEST(Base64Decoder, LongTextsInAnyPieces) {
  constexpr uint64_t kSeed = 20'261'128;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random.below(3000), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.below(256));
    std::string text;
    append_base64(bytes, text);
    std::string found;
    Base64Decoder decoder;
    for (size_t from = 0; from < text.size();) {
      const size_t count = std::min<size_t>(random.below(500), text.size() - from);
      ASSERT_TRUE(decoder.decode(std::string_view(text).substr(from, count), found));
      from += count;
    }
    EXPECT_TRUE(decoder.is_whole());
    EXPECT_EQ(found, bytes);
  }
}

}  // namespace
}  // namespace windrow
