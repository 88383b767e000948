#include "grammar/seen_texts.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"

namespace windrow::grammar {
namespace {

// As a plain set has it: how many texts begin with `prefix`, whether it is one, and what follows.
void expect_place(const SeenTexts& seen, const std::set<std::string>& texts,
                  const std::string& prefix) {
  SeenTexts::Cursor place = seen.begin();
  for (const char byte : prefix)
    place = place.next(static_cast<uint8_t>(byte));
  uint32_t count = 0;
  std::set<uint8_t> following;
  for (const std::string& text : texts) {
    if (!text.starts_with(prefix)) continue;
    ++count;
    if (text.size() > prefix.size()) following.insert(static_cast<uint8_t>(text[prefix.size()]));
  }
  ASSERT_EQ(place.is_on(), count > 0) << prefix;
  if (count == 0) return;
  ASSERT_EQ(place.count(), count) << prefix;
  ASSERT_EQ(place.ends(), texts.contains(prefix)) << prefix;
  std::set<uint8_t> found;
  place.for_each([&](uint8_t byte, SeenTexts::Cursor behind) {
    found.insert(byte);
    EXPECT_EQ(behind.count(), place.next(byte).count());
  });
  ASSERT_EQ(found, following) << prefix;
}

TEST(SeenTextsTest, IsASetOfTextsAndEarlierSetsStayAsTheyWere) {
  Random random(1);
  const auto word = [&] {
    std::string text;
    for (uint64_t left = 1 + random.below(6); left > 0; --left)
      text +=
          static_cast<char>(random.chance(0.1) ? 0x80 + random.below(3) : 'a' + random.below(2));
    return text;
  };
  std::vector<SeenTexts> sets(1);
  std::vector<std::set<std::string>> expected(1);
  for (int step = 0; step < 300; ++step) {
    const size_t from = random.below(sets.size());
    const std::string text = word();
    sets.push_back(sets[from].with(text));
    expected.push_back(expected[from]);
    expected.back().insert(text);
    ASSERT_EQ(sets.back().count(), expected.back().size());
    const size_t some = random.below(sets.size());
    for (int i = 0; i < 20; ++i) {
      const std::string other = word();
      ASSERT_NO_FATAL_FAILURE(expect_place(sets[some], expected[some],
                                           other.substr(0, random.below(other.size() + 1))));
    }
    for (const std::string& each : expected[some])
      ASSERT_NO_FATAL_FAILURE(expect_place(sets[some], expected[some], each));
  }
}

}  // namespace
}  // namespace windrow::grammar
