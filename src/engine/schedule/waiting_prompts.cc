#include "engine/schedule/waiting_prompts.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/ensure.h"

namespace windrow::engine {

// By blocks, because prompts are long and often the same to their end.
int32_t common_beginning(std::span<const Token> a, std::span<const Token> b) {
  constexpr size_t kBlock = 64;
  const size_t size = std::min(a.size(), b.size());
  size_t common = 0;
  while (common + kBlock <= size &&
         std::memcmp(&a[common], &b[common], kBlock * sizeof(Token)) == 0) {
    common += kBlock;
  }
  while (common < size && a[common] == b[common])
    ++common;
  return static_cast<int32_t>(common);
}

bool WaitingPrompts::Before::operator()(const Prompt& a, const Prompt& b) const {
  const auto common = static_cast<size_t>(common_beginning(a.tokens, b.tokens));
  if (common == a.tokens.size() || common == b.tokens.size()) {
    if (a.tokens.size() != b.tokens.size()) return a.tokens.size() < b.tokens.size();
    return a.row.value() < b.row.value();
  }
  return a.tokens[common] < b.tokens[common];
}

void WaitingPrompts::add(RowId row, std::span<const Token> tokens) {
  const bool is_new = prompts_.insert({.tokens = tokens, .row = row}).second;
  ENSURE(is_new, "row {} waits twice", row.value());
}

void WaitingPrompts::remove(RowId row, std::span<const Token> tokens) {
  const size_t removed = prompts_.erase({.tokens = tokens, .row = row});
  ENSURE(removed == 1, "row {} does not wait with these tokens", row.value());
}

int32_t WaitingPrompts::longest_common(std::span<const Token> tokens) const {
  int32_t longest = 0;
  const auto next = prompts_.lower_bound({.tokens = tokens, .row = RowId(0)});
  if (next != prompts_.end()) longest = common_beginning(tokens, next->tokens);
  if (next != prompts_.begin()) {
    longest = std::max(longest, common_beginning(tokens, std::prev(next)->tokens));
  }
  return longest;
}

}  // namespace windrow::engine
