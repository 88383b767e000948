#include "grammar/text_trie.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"

namespace windrow::grammar {

TextTrie::Node TextTrie::add(std::vector<std::string> texts, std::vector<Range>* ranges) {
  ENSURE(!texts.empty(), "a set of texts without one");
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());

  // The texts [first, end) have their first `depth` bytes in common. Nodes are numbered in the
  // order of this queue, so the edges of each lie together.
  struct Group {
    size_t first, end, depth;
  };
  const Node root = nodes_count();
  std::vector<Group> groups = {{0, texts.size(), 0}};
  for (size_t at = 0; at < groups.size(); ++at) {
    auto [first, end, depth] = groups[at];
    if (ranges != nullptr)
      ranges->push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(end)});
    const bool accepting = texts[first].size() == depth;  // the shortest comes first
    if (accepting) ++first;
    while (first < end) {
      const char byte = texts[first][depth];
      size_t same = first;
      while (same < end && texts[same][depth] == byte)
        ++same;
      edges_.push_back(
          {.to = root + static_cast<Node>(groups.size()), .byte = static_cast<uint8_t>(byte)});
      bytes_used_[static_cast<uint8_t>(byte)] = true;
      groups.push_back({first, same, depth + 1});
      first = same;
    }
    accepting_.push_back(accepting);
    edges_from_.push_back(static_cast<uint32_t>(edges_.size()));
  }
  return root;
}

TextTrie::Node TextTrie::next(Node node, uint8_t byte) const {
  const auto first = edges_.begin() + edges_from_[node];
  const auto end = edges_.begin() + edges_from_[node + 1];
  const auto found = std::lower_bound(
      first, end, byte, [](const Edge& edge, uint8_t wanted) { return edge.byte < wanted; });
  return found != end && found->byte == byte ? found->to : kNone;
}

size_t TextTrie::memory_bytes() const {
  return edges_.capacity() * sizeof(Edge) + edges_from_.capacity() * sizeof(uint32_t) +
         accepting_.capacity() / 8;
}

}  // namespace windrow::grammar
