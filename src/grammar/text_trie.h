// TextTrie: sets of literal texts, each as a tree of bytes, all in one array. A node is a position
// in a text, as a state is one in an automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace windrow::grammar {

class TextTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kNone = UINT32_MAX;

  // Which of the sorted texts begin with the bytes on the way to a node: `first` to `end` - 1. If
  // it accepts, its text is the first of them.
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
  };

  // Adds a tree of exactly these texts, at least one. Returns its root. The nodes of the tree
  // follow each other from there on; their ranges are appended to `ranges`, if it is wanted.
  Node add(std::vector<std::string> texts, std::vector<Range>* ranges = nullptr);

  Node nodes_count() const { return static_cast<Node>(accepting_.size()); }

  Node next(Node node, uint8_t byte) const;
  bool accepts(Node node) const { return accepting_[node]; }
  bool goes_on(Node node) const { return edges_from_[node] < edges_from_[node + 1]; }

  template <class Visit>
  void for_each_byte(Node node, const Visit& visit) const {
    for (uint32_t i = edges_from_[node]; i < edges_from_[node + 1]; ++i)
      visit(edges_[i].byte);
  }

  // With each byte that may follow and the node behind it, in the order of bytes.
  template <class Visit>
  void for_each_edge(Node node, const Visit& visit) const {
    for (uint32_t i = edges_from_[node]; i < edges_from_[node + 1]; ++i)
      visit(edges_[i].byte, edges_[i].to);
  }

  // The bytes that occur in a text.
  const std::vector<bool>& bytes_used() const { return bytes_used_; }

  size_t memory_bytes() const;

 private:
  struct Edge {
    Node to = 0;
    uint8_t byte = 0;
  };

  std::vector<Edge> edges_;                 // by node, then by byte
  std::vector<uint32_t> edges_from_ = {0};  // the first edge of each node, and the end
  std::vector<bool> accepting_;
  std::vector<bool> bytes_used_ = std::vector<bool>(256);
};

}  // namespace windrow::grammar
