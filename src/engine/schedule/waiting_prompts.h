// WaitingPrompts: what the rows that wait begin with. Pure. It answers one question: how much of
// these tokens will somebody want? A prefix that nobody waits for is not worth its cells.
//
// The prompts are kept sorted, so the longest common beginning with any of them is that with one of
// two neighbours.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "engine/host/types.h"

namespace windrow::engine {

// So many of their first tokens are the same.
int32_t common_beginning(std::span<const Token> a, std::span<const Token> b);

// Used by one thread at a time.
class WaitingPrompts {
 public:
  // `tokens` stay where they are until the row is removed.
  void add(RowId row, std::span<const Token> tokens);
  void remove(RowId row, std::span<const Token> tokens);

  bool empty() const { return prompts_.empty(); }

  // The longest beginning of `tokens` that a waiting row has too.
  int32_t longest_common(std::span<const Token> tokens) const;

 private:
  struct Prompt {
    std::span<const Token> tokens;
    RowId row;
  };
  struct Before {
    bool operator()(const Prompt& a, const Prompt& b) const;
  };

  std::set<Prompt, Before> prompts_;
};

}  // namespace windrow::engine
