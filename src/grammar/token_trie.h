// TokenTrie: tokens as a tree of their bytes, in one array in depth-first order, so that a walk
// reads memory forwards and skips a subtree by one jump (as llguidance's toktrie does). Immutable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/plain_facts.h"

namespace windrow::grammar {

using Token = int32_t;

class TokenTrie {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint16_t kDepthMax = UINT16_MAX;

  struct Node {
    uint32_t end = 0;          // the index after the last node of its subtree
    uint32_t tokens_from = 0;  // its own tokens, then those of its subtree
    uint16_t depth = 0;        // bytes from the root, this one included; at least 1
    uint8_t byte = 0;
    uint8_t begun = 0;  // how many more bytes its character needs
    uint8_t chars_below =
        0;  // the maximum of characters that begin below it on a path; at most 255
  };

  struct Entry {
    std::string_view bytes;  // 1 to kDepthMax of them
    Token token = 0;
  };

  TokenTrie() = default;
  explicit TokenTrie(std::vector<Entry> entries, bool with_kinds = false);

  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }

  // The characters that begin below a node; only in a trie made `with_kinds`.
  ByteKinds kinds_below(uint32_t node) const { return kinds_below_[node]; }

  // The node for a first byte, or kNone.
  uint32_t root_child(uint8_t byte) const { return root_children_[byte]; }

  // The tokens that end at a node; and those that end at it or below.
  std::span<const Token> own_tokens(uint32_t node) const {
    return tokens(nodes_[node].tokens_from, nodes_[node + 1].tokens_from);
  }
  std::span<const Token> subtree_tokens(uint32_t node) const {
    return tokens(nodes_[node].tokens_from, nodes_[nodes_[node].end].tokens_from);
  }

  // Whether a token begins with these bytes and is longer.
  bool continues(std::string_view bytes) const;

  size_t tokens_count() const { return tokens_.size(); }
  uint16_t depth_max() const { return depth_max_; }
  size_t memory_bytes() const;

 private:
  std::span<const Token> tokens(uint32_t from, uint32_t end) const {
    return {tokens_.data() + from, end - from};
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // and a sentinel, for its tokens_from
  std::vector<ByteKinds> kinds_below_;
  std::vector<Token> tokens_;  // by node
  std::array<uint32_t, 256> root_children_ = [] {
    std::array<uint32_t, 256> none{};
    none.fill(kNone);
    return none;
  }();
  uint16_t depth_max_ = 0;
};

}  // namespace windrow::grammar
