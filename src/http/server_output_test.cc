#include "http/server_output.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace windrow::http {
namespace {

TEST(OutBuffer, GivesWhatWasPutInOnceAndInOrder) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE("seed 7");
  Random random(kSeed);
  OutBuffer buffer;
  std::string in;
  std::string out;
  for (int i = 0; i < 20'000; ++i) {
    const std::string piece(random.below(300), static_cast<char>('a' + i % 26));
    buffer.append(piece);
    in += piece;
    const std::string_view left = buffer.unsent().substr(0, random.below(400));
    out += left;
    buffer.sent(left.size());
    ASSERT_EQ(buffer.size(), in.size() - out.size());
    ASSERT_EQ(buffer.empty(), in.size() == out.size());
  }
  out += buffer.unsent();
  EXPECT_EQ(out, in);
}

// Large ones among small ones, which are kept as they are.
TEST(OutBuffer, GivesLargePiecesInTheirPlace) {
  constexpr uint64_t kLargeSeed = 11;
  SCOPED_TRACE("seed 11");
  Random random(kLargeSeed);
  OutBuffer buffer;
  std::string in;
  std::string out;
  for (int i = 0; i < 400; ++i) {
    std::string piece(random.chance(0.3) ? 60'000 + random.below(20'000) : random.below(300),
                      static_cast<char>('a' + i % 26));
    in += piece;
    if (random.chance(0.5)) {
      buffer.take(std::move(piece));
    } else {
      buffer.append(piece);
    }
    const bool all = random.chance(0.1);
    for (size_t left = all ? buffer.size() : random.below(40'000); left > 0 && !buffer.empty();) {
      const std::string_view front = buffer.unsent().substr(0, left);
      ASSERT_FALSE(front.empty());
      out += front;
      left -= front.size();
      buffer.sent(front.size());
    }
    ASSERT_EQ(buffer.size(), in.size() - out.size());
    ASSERT_GE(buffer.held_bytes(), buffer.size());
    ASSERT_LE(buffer.held_bytes(), 2 * buffer.size() + 65'536);
  }
  while (!buffer.empty()) {
    out += buffer.unsent();
    buffer.sent(buffer.unsent().size());
  }
  EXPECT_TRUE(out == in);
  EXPECT_EQ(buffer.held_bytes(), 0U);
}

// A reader that is always a hundred kilobytes behind.
TEST(OutBuffer, KeepsWhatIsUnsentAndLittleMore) {
  OutBuffer buffer;
  buffer.append(std::string(100'000, 'x'));
  size_t held = 0;
  for (int i = 0; i < 100'000; ++i) {
    buffer.append(std::string(1000, 'x'));
    buffer.sent(1000);
    held = std::max(held, buffer.held_bytes());
  }
  EXPECT_EQ(buffer.size(), 100'000U);
  EXPECT_LT(held, 250'000U);
}

}  // namespace
}  // namespace windrow::http
