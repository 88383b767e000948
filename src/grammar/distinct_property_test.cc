// Masks of random languages of arrays with distinct items, held to the list of all their texts: a
// token is allowed exactly if a text begins like this.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "grammar/matcher.h"
#include "grammar/testing/distinct_arrays.h"

namespace windrow::grammar {
namespace {

using testing::ArraysLanguage;
using testing::random_arrays;

constexpr Token kEnd = 0;

// Single bytes, and pieces of texts cut anywhere.
std::vector<std::string> vocabulary_for(const ArraysLanguage& language, Random& random) {
  std::set<std::string> tokens;
  for (const char byte : std::string_view("[]{}<>/,12345\"abt \n"))
    tokens.insert(std::string(1, byte));
  const std::vector<std::string> texts(language.texts.begin(), language.texts.end());
  for (int i = 0; i < 120; ++i) {
    std::string piece = texts[random.below(texts.size())];
    piece = piece.substr(random.below(piece.size()));
    piece.resize(1 + random.below(std::min<size_t>(piece.size(), 9)));
    if (random.chance(0.2)) piece += piece;
    if (random.chance(0.1)) piece += "\n";
    tokens.insert(piece);
  }
  std::vector<std::string> all = {"</s>"};
  all.insert(all.end(), tokens.begin(), tokens.end());
  return all;
}

// A word without end may be longer here than in the list of texts.
bool is_listed(const std::string& text) {
  return text.find(std::string(ArraysLanguage::kLongMax - 1, ArraysLanguage::kLongLetter)) ==
         std::string::npos;
}

// Whether the token may follow `text`, as accept() means it: with line breaks behind the end.
bool may_follow(const ArraysLanguage& language, const std::string& text, const std::string& token) {
  if (language.begins(text + token)) return true;
  const size_t text_bytes = token.find_last_not_of('\n') + 1;
  return text_bytes < token.size() && (text_bytes > 0 || !text.empty()) &&
         language.texts.contains(text + token.substr(0, text_bytes));
}

std::string forced_after(const ArraysLanguage& language, std::string text, size_t bytes_max) {
  std::string forced;
  while (forced.size() < bytes_max && !language.texts.contains(text)) {
    std::set<char> next;
    for (auto at = language.texts.lower_bound(text);
         at != language.texts.end() && at->starts_with(text); ++at)
      next.insert((*at)[text.size()]);
    if (next.size() != 1) break;
    forced += *next.begin();
    text += *next.begin();
  }
  return forced;
}

struct Row {
  Matcher matcher;
  std::vector<std::string> texts;  // before each token, and now
};

void expect_exact(Row& row, const ArraysLanguage& language, const std::vector<std::string>& tokens,
                  std::vector<Token>& allowed) {
  const std::string& text = row.texts.back();
  std::shared_ptr<const TokenMask> mask;
  while (mask == nullptr)
    mask = row.matcher.mask_within(7);
  ASSERT_FALSE(row.matcher.too_complex()) << text;
  allowed.clear();
  for (Token token = 0; token < std::ssize(tokens); ++token) {
    if (token == kEnd) {
      ASSERT_EQ(mask->allows(token), language.texts.contains(text)) << text;
      continue;
    }
    const std::string& bytes = tokens[static_cast<size_t>(token)];
    if (!is_listed(text + bytes)) continue;
    const bool expected = may_follow(language, text, bytes);
    ASSERT_EQ(mask->allows(token), expected) << "token " << bytes << " after " << text;
    Matcher copy = row.matcher;
    ASSERT_EQ(copy.accept(token), expected) << "token " << bytes << " after " << text;
    if (expected && language.begins(text + bytes)) allowed.push_back(token);
  }
  ASSERT_EQ(row.matcher.can_end(), language.texts.contains(text)) << text;
  if (is_listed(text)) {
    const std::string forced = forced_after(language, text, 12);
    ASSERT_EQ(row.matcher.forced_bytes(12), forced) << "after " << text;
  }
}

TEST(DistinctPropertyTest, MasksAreExactWithForksAndRollbacks) {
  int built = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto language = random_arrays(random);
    if (language == nullptr) continue;
    ++built;
    const std::vector<std::string> tokens = vocabulary_for(*language, random);
    CompiledGrammarOptions options;
    if (random.chance(0.5)) options = {.masks_bytes_max = 300, .states_bytes_max = 1};
    const auto compiled = std::make_shared<CompiledGrammar>(
        language->grammar, TokenTables::make(tokens, {kEnd}), options);
    std::vector<Row> rows;
    rows.reserve(4);
    rows.push_back({Matcher(compiled), {""}});
    std::vector<Token> allowed;
    for (int step = 0; step < 25; ++step) {
      Row& row = rows[random.below(rows.size())];
      if (random.chance(0.15) && rows.size() < 4) {
        const Row copy = row;
        rows.push_back(copy);
        continue;
      }
      ASSERT_NO_FATAL_FAILURE(expect_exact(row, *language, tokens, allowed));
      if (allowed.empty() || random.chance(0.1)) {
        const size_t back = random.below(row.texts.size());
        row.matcher.rollback(back);
        row.texts.resize(row.texts.size() - back);
        continue;
      }
      const Token token = allowed[random.below(allowed.size())];
      ASSERT_TRUE(row.matcher.accept(token));
      row.texts.push_back(row.texts.back() + tokens[static_cast<size_t>(token)]);
    }
  }
  EXPECT_GT(built, 150);
}

}  // namespace
}  // namespace windrow::grammar
