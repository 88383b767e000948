// TokenEscapes: control tokens in the texts of a grammar. A grammar is about bytes and control
// tokens have none, so each is escaped as a byte that no UTF-8 text has, followed by its text: no
// other token can write that, and this one can write nothing else. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

// Immutable; any thread.
class TokenEscapes {
 public:
  static constexpr char kEscape = '\xFF';

  struct Entry {
    std::string text;  // of the control token
    Token token = 0;
    bool ends_answer = false;
  };

  TokenEscapes() = default;
  explicit TokenEscapes(std::vector<Entry> entries);

  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

  // The text with its control tokens escaped; it is cut before the first that ends an answer.
  std::string escape(std::string_view text) const;

  // The control token whose whole escape `escaped` begins with; nullptr: none.
  const Entry* at_front(std::string_view escaped) const;

 private:
  std::vector<Entry> entries_;  // longest text first
};

}  // namespace windrow::engine
