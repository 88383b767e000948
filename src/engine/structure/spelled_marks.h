// SpelledMarks: control tokens in the texts of a grammar. A grammar is about bytes and control
// tokens have none, so each is spelled as a byte that no text in UTF-8 has, and what it is written
// as: no other token can write that, and this one nothing else. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/host/types.h"

namespace windrow::engine {

class SpelledMarks {
 public:
  static constexpr char kSign = '\xFF';

  struct Mark {
    std::string text;
    Token token = 0;
    bool ends_answer = false;
  };

  SpelledMarks() = default;
  explicit SpelledMarks(std::vector<Mark> marks);

  bool empty() const { return marks_.empty(); }
  const std::vector<Mark>& marks() const { return marks_; }

  // With the marks in it spelled; up to the first that ends an answer.
  std::string spell(std::string_view text) const;

  // The one that is spelled at the beginning of a text, whole; none: nullptr.
  const Mark* at_front(std::string_view spelled) const;

 private:
  std::vector<Mark> marks_;  // the longest first
};

}  // namespace windrow::engine
