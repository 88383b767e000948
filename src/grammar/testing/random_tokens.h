// Vocabularies of random tokens, and walks through a mask. For tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "grammar/matcher.h"

namespace windrow::grammar::testing {

inline constexpr Token kControl = 0;
inline constexpr Token kEnd = 1;

// A control token, an end token, every single byte, and some hundred random pieces of `pieces`,
// whole and cut anywhere.
inline std::vector<std::string> random_vocabulary(Random& random,
                                                  const std::vector<std::string>& pieces) {
  std::vector<std::string> tokens = {"", "</s>"};
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  for (int i = 0; i < 300; ++i) {
    std::string token;
    for (uint64_t left = 1 + random.below(6); left > 0; --left)
      token += pieces[random.below(pieces.size())];
    if (random.chance(0.2)) token = token.substr(random.below(token.size()));
    if (random.chance(0.2)) token.resize(random.below(token.size()) + 1);
    tokens.push_back(token);
  }
  tokens.push_back(std::string(40, ' '));
  tokens.push_back(std::string(40, 'a') + "\"");
  return tokens;
}

inline const std::vector<std::string>& text_pieces() {
  static const std::vector<std::string> kPieces = {"a",
                                                   "b",
                                                   "ab",
                                                   "c",
                                                   "x",
                                                   " ",
                                                   "1",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "{",
                                                   "}",
                                                   "\"",
                                                   "\\",
                                                   "\n",
                                                   "\\u00",
                                                   "\xC3\xA4",
                                                   "\xE2\x82\xAC",
                                                   "\x7F",
                                                   "true",
                                                   "\\\"",
                                                   "\",\"",
                                                   "\xF0\x9F\x98\x80",
                                                   "\x80",
                                                   "\xFF",
                                                   "\xED\xA0\x80",
                                                   "\xE2\x80\xA8",
                                                   "\xC3\xB6",
                                                   "@",
                                                   "aa",
                                                   "ba",
                                                   "\t"};
  return kPieces;
}

// Any token that the mask allows; -1 where it allows none.
inline Token random_allowed(const TokenMask& mask, Random& random) {
  std::vector<Token> allowed;
  for (Token token = 0; token < mask.size(); ++token) {
    if (mask.allows(token)) allowed.push_back(token);
  }
  return allowed.empty() ? -1 : allowed[random.below(allowed.size())];
}

}  // namespace windrow::grammar::testing
