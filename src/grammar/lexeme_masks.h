// LexemeMasks: of a vocabulary's plain tokens, those that stay within a lexeme from one of its
// states on. They do not depend on the grammar around it, and the automata of formats (an address,
// a date) are the same objects in all grammars: so what one row has found others need not find
// again. Thread-safe.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "grammar/lexeme/byte_dfa.h"
#include "grammar/plain_facts.h"
#include "grammar/token_mask.h"
#include "grammar/token_trie.h"

namespace windrow::grammar {

class TokenTables;

class LexemeMasks {
 public:
  explicit LexemeMasks(size_t bytes_max) : bytes_max_(bytes_max) {}

  // `facts` are those of `dfa`. The masks of the lexemes asked for last are kept.
  std::shared_ptr<const TokenMask> get(const TokenTables& tables,
                                       const std::shared_ptr<const ByteDfa>& dfa,
                                       ByteDfa::State state, const std::vector<PlainFacts>& facts);

 private:
  using Key = std::pair<const ByteDfa*, ByteDfa::State>;
  struct Kept {
    std::shared_ptr<const ByteDfa> dfa;  // so that its address stays its own
    std::shared_ptr<const TokenMask> mask;
  };

  const size_t bytes_max_;
  std::mutex mutex_;
  boost::unordered_flat_map<Key, Kept> masks_;
  std::deque<Key> order_;  // the oldest first
};

}  // namespace windrow::grammar
