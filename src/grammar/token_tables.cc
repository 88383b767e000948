#include "grammar/token_tables.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "grammar/plain_facts.h"

namespace windrow::grammar {
namespace {

// Whether all plain tokens below a node are allowed.
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

namespace {

bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

// How many bytes the plain character at `at` has; 0 where there is none, or not all of one.
size_t plain_character(std::string_view bytes, size_t at) {
  const uint8_t first = static_cast<uint8_t>(bytes[at]);
  if (!begins_plain(first)) return 0;
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (at + length > bytes.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(bytes[at + i])) return 0;
  }
  const uint8_t second = static_cast<uint8_t>(bytes[at + 1]);
  // Not longer than needed, no surrogates, not behind the last character.
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

uint32_t characters(std::string_view bytes) {
  uint32_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    count += i == 0 || !continues_character(bytes[i]) ? 1U : 0U;
  return count;
}

}  // namespace

std::shared_ptr<const TokenTables> TokenTables::make(std::span<const std::string> token_bytes,
                                                     std::vector<Token> end_tokens) {
  const auto tables = std::make_shared<TokenTables>(Private());
  TokenTables& made = *tables;
  made.vocabulary_size_ = static_cast<int32_t>(token_bytes.size());
  std::sort(end_tokens.begin(), end_tokens.end());
  end_tokens.erase(std::unique(end_tokens.begin(), end_tokens.end()), end_tokens.end());
  made.end_tokens_ = std::move(end_tokens);
  for (const Token token : made.end_tokens_)
    ENSURE(token >= 0 && token < made.vocabulary_size_, "end token {} of {}", token,
           made.vocabulary_size_);

  size_t size = 0;
  for (const std::string& bytes : token_bytes)
    size += bytes.size();
  made.all_bytes_.reserve(size);
  made.bytes_from_.reserve(token_bytes.size() + 1);
  made.bytes_from_.push_back(0);
  for (size_t i = 0; i < token_bytes.size(); ++i) {
    // A token longer than any depth of a trie is never allowed; there is none like that.
    if (!made.is_end(static_cast<Token>(i)) && token_bytes[i].size() <= TokenTrie::kDepthMax)
      made.all_bytes_ += token_bytes[i];
    made.bytes_from_.push_back(static_cast<uint32_t>(made.all_bytes_.size()));
  }

  std::vector<TokenTrie::Entry> plain;
  std::vector<TokenTrie::Entry> special;
  std::vector<TokenTrie::Entry> endings;
  std::vector<std::pair<uint32_t, Token>> plain_by_chars;
  for (Token token = 0; token < made.vocabulary_size_; ++token) {
    const std::string_view bytes = made.bytes(token);
    if (bytes.empty()) continue;
    const uint32_t chars = characters(bytes);
    made.token_chars_max_ = std::max(made.token_chars_max_, static_cast<int32_t>(chars));
    made.token_bytes_max_ = std::max(made.token_bytes_max_, bytes.size());
    size_t at = 0;
    for (size_t length = 0; at < bytes.size() && (length = plain_character(bytes, at)) > 0;
         at += length) {
    }
    if (at == bytes.size()) {
      plain.push_back({bytes, token});
      plain_by_chars.emplace_back(chars, token);
    } else {
      made.special_chars_max_ = std::max(made.special_chars_max_, chars);
      special.push_back({bytes, token});
      endings.push_back({bytes.substr(at), token});
    }
  }
  made.plain_ = TokenTrie(std::move(plain), true);
  made.special_ = TokenTrie(std::move(special));
  made.endings_ = TokenTrie(std::move(endings));
  made.add_slices(plain_by_chars);
  return tables;
}

void TokenTables::add_slices(const std::vector<std::pair<uint32_t, Token>>& plain_by_chars) {
  slices_.assign(kSlices + 1, TokenMask(vocabulary_size_));
  for (const auto& [chars, token] : plain_by_chars) {
    if (chars > kSlices) {
      longer_.emplace_back(chars, token);
    } else {
      slices_[chars].allow(token);
    }
  }
  for (uint32_t i = 1; i <= kSlices; ++i) {
    const std::span<uint64_t> words = slices_[i].words();
    const std::span<const uint64_t> fewer = std::as_const(slices_[i - 1]).words();
    for (size_t word = 0; word < words.size(); ++word)
      words[word] |= fewer[word];
  }
  std::sort(longer_.begin(), longer_.end());
}

TokenMask TokenTables::plain_mask(uint32_t chars_max) const {
  TokenMask mask = slices_[std::min(chars_max, kSlices)];
  for (const auto& [chars, token] : longer_) {
    if (chars > chars_max) break;
    mask.allow(token);
  }
  return mask;
}

std::string_view TokenTables::bytes(Token token) const {
  if (token < 0 || token >= vocabulary_size_) return {};
  const size_t from = bytes_from_[static_cast<size_t>(token)];
  const size_t end = bytes_from_[static_cast<size_t>(token) + 1];
  return std::string_view(all_bytes_).substr(from, end - from);
}

bool TokenTables::is_end(Token token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

bool TokenTables::continues(std::string_view bytes) const {
  return plain_.continues(bytes) || special_.continues(bytes);
}

size_t TokenTables::memory_bytes() const {
  size_t bytes = sizeof(*this) + all_bytes_.capacity() + bytes_from_.capacity() * sizeof(uint32_t) +
                 longer_.capacity() * sizeof(longer_[0]) + plain_.memory_bytes() +
                 special_.memory_bytes() + endings_.memory_bytes();
  for (const TokenMask& slice : slices_)
    bytes += slice.words().size_bytes();
  return bytes;
}

}  // namespace windrow::grammar
