#include "grammar/schema/testing/walk.h"

#include <string_view>
#include <vector>

namespace windrow::grammar::testing {
namespace {

constexpr int kBytesMax = 20'000;
constexpr int kEndToken = 256;

// What brings an end nearer, the best first; and within a string, where nearly all is allowed.
constexpr std::string_view kClosing = "}]\"0nf";
constexpr std::string_view kClosingString = "\"";
constexpr size_t kManyBytes = 60;

char choose(const std::vector<char>& allowed, bool free, Random& random) {
  if (!free && random.chance(0.9)) {
    for (const char c : allowed.size() > kManyBytes ? kClosingString : kClosing) {
      for (const char one : allowed) {
        if (one == c) return one;
      }
    }
  }
  return allowed[random.below(allowed.size())];
}

}  // namespace

Walk random_walk(Matcher matcher, Random& random, int bytes_free) {
  Walk walk;
  for (int i = 0; i < kBytesMax; ++i) {
    const bool free = i < bytes_free;
    const bool can_end = matcher.can_end();
    if (can_end && (!free || random.chance(0.1))) return walk;
    const auto mask = matcher.mask();
    std::vector<char> allowed;
    for (int byte = 0; byte < kEndToken; ++byte) {
      if (mask->allows(byte)) allowed.push_back(static_cast<char>(byte));
    }
    if (can_end && allowed.empty()) return walk;
    walk.end = Walk::End::kStuck;
    if (mask->allows(kEndToken) != can_end || allowed.empty()) return walk;
    const char next = choose(allowed, free, random);
    if (!matcher.accept(static_cast<Token>(static_cast<unsigned char>(next)))) return walk;
    walk.end = Walk::End::kText;
    // A line break behind a whole text ends it and is no part of it.
    if (matcher.bytes_behind_end() > 0) return walk;
    walk.text += next;
  }
  walk.end = Walk::End::kLong;
  return walk;
}

}  // namespace windrow::grammar::testing
