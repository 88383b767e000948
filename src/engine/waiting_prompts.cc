#include "engine/waiting_prompts.h"

#include <algorithm>
#include <iterator>

#include "base/ensure.h"

namespace windrow::engine {

int32_t common_beginning(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<int32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool WaitingPrompts::Before::operator()(const Prompt& a, const Prompt& b) const {
  const auto [in_a, in_b] = std::ranges::mismatch(a.tokens, b.tokens);
  if (in_a == a.tokens.end() || in_b == b.tokens.end()) {
    if (a.tokens.size() != b.tokens.size()) return a.tokens.size() < b.tokens.size();
    return a.row.value() < b.row.value();
  }
  return *in_a < *in_b;
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
