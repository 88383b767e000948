// Pattern: a regular expression together with the means to draw texts of it, so that a test knows
// without matching that a text fits. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace windrow::structured {

class Pattern {
 public:
  // An expression between ^ and $, as people write them: codes, versions, slugs, amounts. With
  // `hard`, alternatives within repetitions, classes of other scripts, negated classes and more.
  static Pattern random(Random& random, bool hard);

  // Names of members that begin with `prefix`, which is plain.
  static Pattern names(Random& random, const std::string& prefix);

  const std::string& regex() const { return regex_; }
  std::string sample(Random& random) const;  // UTF-8

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
  bool loose_ = false;  // not held at its ends: it may stand anywhere in the text
  std::string regex_;
};

size_t characters_of(const std::string& utf8);

}  // namespace windrow::structured
