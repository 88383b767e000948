#include "grammar/lexeme_masks.h"

#include <algorithm>

#include "grammar/token_tables.h"

namespace windrow::grammar {
namespace {

// Everything plain below a node goes on from here.
bool is_free(const PlainFacts& facts, const TokenTrie& trie, uint32_t number) {
  const TokenTrie::Node& node = trie.nodes()[number];
  if (node.begun != 0) return ((facts.free_behind >> node.begun) & 1) != 0;
  if (facts.free_chars == PlainFacts::kForever) return true;
  return (facts.free_chars > 0 && facts.free_chars >= node.chars_below && node.chars_below < 255) ||
         (trie.kinds_below(number) & facts.dangers).empty();
}

void allow(std::span<const Token> tokens, TokenMask& mask) {
  for (const Token token : tokens)
    mask.allow(token);
}

TokenMask find_mask(const TokenTables& tables, const ByteDfa& dfa, ByteDfa::State first,
                    const std::vector<PlainFacts>& facts) {
  const TokenTrie& trie = tables.plain();
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  TokenMask mask(tables.vocabulary_size());
  std::vector<ByteDfa::State> states(size_t{1} + trie.depth_max());
  states[0] = first;
  for (uint32_t at = 0; at < nodes.size();) {
    const TokenTrie::Node& node = nodes[at];
    const ByteDfa::State state = dfa.next(states[node.depth - 1U], node.byte);
    if (state == ByteDfa::kDead) {
      at = node.end;
    } else if (is_free(facts[state], trie, at)) {
      allow(trie.subtree_tokens(at), mask);
      at = node.end;
    } else {
      allow(trie.own_tokens(at), mask);
      states[node.depth] = state;
      ++at;
    }
  }
  return mask;
}

}  // namespace

std::shared_ptr<const TokenMask> LexemeMasks::get(const TokenTables& tables,
                                                  const std::shared_ptr<const ByteDfa>& dfa,
                                                  ByteDfa::State state,
                                                  const std::vector<PlainFacts>& facts) {
  const Key key(dfa.get(), state);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = masks_.find(key); found != masks_.end()) return found->second.mask;
  }
  auto mask = std::make_shared<const TokenMask>(find_mask(tables, *dfa, state, facts));
  const size_t each = sizeof(TokenMask) + mask->words().size_bytes() + sizeof(Kept);
  const std::scoped_lock lock(mutex_);
  if (masks_.try_emplace(key, Kept{dfa, mask}).second) order_.push_back(key);
  while (order_.size() > std::max<size_t>(1, bytes_max_ / each)) {
    masks_.erase(order_.front());
    order_.pop_front();
  }
  return mask;
}

}  // namespace windrow::grammar
