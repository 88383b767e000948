// SeenTexts: a set of texts as a tree of their bytes, which shares its parts with the sets that it
// was made from (a persistent radix tree), so that each fork and each step of an answer can keep
// its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::grammar {

// Immutable: any thread.
class SeenTexts {
 public:
  struct Node {
    std::string label;   // the bytes on the way to it
    std::string firsts;  // the first bytes of the labels of `children`
    std::vector<std::shared_ptr<const Node>> children;
    uint32_t count = 0;  // texts at it and below
    bool ends = false;   // a text is complete here
  };

  // A place in the tree: so many bytes of the label of a node are read. Valid as long as the set.
  class Cursor {
   public:
    Cursor() = default;  // off the tree: no text begins like this
    explicit Cursor(const Node* node, size_t at) : node_(node), at_(at) {}

    bool is_on() const { return node_ != nullptr; }

    // Only on the tree: whether a text ends here; how many begin with the bytes so far.
    bool ends() const { return node_->ends && at_ == node_->label.size(); }
    uint32_t count() const { return node_->count; }

    Cursor next(uint8_t byte) const;

    // Calls `visit(byte, cursor)` for each byte that follows in a text.
    template <class Visit>
    void for_each(const Visit& visit) const {
      if (at_ < node_->label.size())
        return visit(static_cast<uint8_t>(node_->label[at_]), Cursor(node_, at_ + 1));
      for (size_t i = 0; i < node_->children.size(); ++i)
        visit(static_cast<uint8_t>(node_->firsts[i]), Cursor(node_->children[i].get(), 1));
    }

   private:
    const Node* node_ = nullptr;
    size_t at_ = 0;
  };

  SeenTexts() = default;

  // The same set and `text`, which is not empty.
  SeenTexts with(std::string_view text) const;

  Cursor begin() const { return root_ == nullptr ? Cursor() : Cursor(root_.get(), 0); }
  uint32_t count() const { return root_ == nullptr ? 0 : root_->count; }

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace windrow::grammar
