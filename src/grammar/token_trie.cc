#include "grammar/token_trie.h"

#include <algorithm>

namespace windrow::grammar {
namespace {

// The first eight bytes as a number that compares as they do.
uint64_t beginning(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i)
    value = value << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0);
  return value;
}

struct Keyed {
  uint64_t beginning = 0;
  TokenTrie::Entry entry;

  bool operator<(const Keyed& other) const {
    if (beginning != other.beginning) return beginning < other.beginning;
    const int order = entry.bytes.compare(other.entry.bytes);
    return order != 0 ? order < 0 : entry.token < other.entry.token;
  }
};

size_t same_bytes(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < most && a[same] == b[same])
    ++same;
  return same;
}

// How many bytes a character still needs behind this byte, of a character that needed `begun`.
uint8_t begun_behind(uint8_t begun, uint8_t byte) {
  if (begun > 0 && (byte & 0xC0) == 0x80) return begun - 1;
  return byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
}

}  // namespace

TokenTrie::TokenTrie(std::vector<Entry> entries, bool with_kinds) {
  std::vector<Keyed> sorted;
  sorted.reserve(entries.size());
  for (const Entry& entry : entries)
    sorted.push_back({.beginning = beginning(entry.bytes), .entry = entry});
  std::sort(sorted.begin(), sorted.end());

  nodes_.clear();
  tokens_.reserve(sorted.size());
  std::vector<uint32_t> path;  // the nodes of the bytes of the token before
  const auto close = [&](size_t depth) {
    while (path.size() > depth) {
      const uint32_t node = path.back();
      Node& closed = nodes_[node];
      closed.end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
      if (path.empty()) continue;
      uint8_t& above = nodes_[path.back()].chars_below;
      const unsigned here = closed.chars_below + ((closed.byte & 0xC0) != 0x80 ? 1U : 0U);
      above = static_cast<uint8_t>(std::max<unsigned>(above, std::min(here, 255U)));
      if (!with_kinds) continue;
      ByteKinds& kinds = kinds_below_[path.back()];
      kinds = kinds | kinds_below_[node] | ByteKinds::of(closed.byte);
    }
  };
  std::string_view before;
  for (const Keyed& keyed : sorted) {
    const std::string_view bytes = keyed.entry.bytes;
    close(same_bytes(before, bytes));
    while (path.size() < bytes.size()) {
      const uint8_t byte = static_cast<uint8_t>(bytes[path.size()]);
      const uint8_t begun = path.empty() ? 0 : nodes_[path.back()].begun;
      const uint32_t node = static_cast<uint32_t>(nodes_.size());
      if (path.empty()) root_children_[byte] = node;
      path.push_back(node);
      if (with_kinds) kinds_below_.emplace_back();
      nodes_.push_back({.tokens_from = static_cast<uint32_t>(tokens_.size()),
                        .depth = static_cast<uint16_t>(path.size()),
                        .byte = byte,
                        .begun = begun_behind(begun, byte)});
    }
    depth_max_ = std::max(depth_max_, static_cast<uint16_t>(bytes.size()));
    tokens_.push_back(keyed.entry.token);
    before = bytes;
  }
  close(0);
  nodes_.push_back({.tokens_from = static_cast<uint32_t>(tokens_.size())});
  nodes_.shrink_to_fit();
  kinds_below_.shrink_to_fit();
}

bool TokenTrie::continues(std::string_view bytes) const {
  if (tokens_.empty()) return false;
  if (bytes.empty()) return true;
  uint32_t node = root_child(static_cast<uint8_t>(bytes[0]));
  if (node == kNone) return false;
  for (size_t i = 1; i < bytes.size(); ++i) {
    const uint32_t end = nodes_[node].end;
    for (++node; node < end && nodes_[node].byte != static_cast<uint8_t>(bytes[i]);)
      node = nodes_[node].end;
    if (node == end) return false;
  }
  return nodes_[node].end > node + 1;
}

size_t TokenTrie::memory_bytes() const {
  return nodes_.capacity() * sizeof(Node) + tokens_.capacity() * sizeof(Token) +
         kinds_below_.capacity() * sizeof(ByteKinds);
}

}  // namespace windrow::grammar
