#include "grammar/seen_texts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace windrow::grammar {
namespace {

using Node = SeenTexts::Node;

std::shared_ptr<const Node> leaf(std::string_view text) {
  return std::make_shared<const Node>(
      Node{.label = std::string(text), .firsts = {}, .children = {}, .count = 1, .ends = true});
}

// The node with one more text below it, or at it; `text` begins with its label. Null if the text is
// there already. As deep as texts begin with others, which is less than the root of twice the bytes
// of an answer.
std::shared_ptr<const Node> with_text(const Node& node, std::string_view text) {
  const std::string_view rest = text.substr(node.label.size());
  Node changed;
  if (rest.empty()) {
    if (node.ends) return nullptr;
    changed = node;
    changed.ends = true;
    ++changed.count;
    return std::make_shared<const Node>(std::move(changed));
  }
  const size_t at = node.firsts.find(rest[0]);
  if (at == std::string::npos) {
    changed = node;
    changed.firsts += rest[0];
    changed.children.push_back(leaf(rest));
    ++changed.count;
    return std::make_shared<const Node>(std::move(changed));
  }
  const Node& child = *node.children[at];
  const auto common =
      static_cast<size_t>(std::ranges::mismatch(child.label, rest).in1 - child.label.begin());
  std::shared_ptr<const Node> new_child;
  if (common == child.label.size()) {
    new_child = with_text(child, rest);
    if (new_child == nullptr) return nullptr;
  } else {  // the label is cut
    Node lower = child;
    lower.label.erase(0, common);
    const char lower_first = lower.label[0];
    const Node upper{.label = child.label.substr(0, common),
                     .firsts = std::string(1, lower_first),
                     .children = {std::make_shared<const Node>(std::move(lower))},
                     .count = child.count,
                     .ends = false};
    new_child = with_text(upper, rest);
  }
  changed = node;
  changed.children[at] = std::move(new_child);
  ++changed.count;
  return std::make_shared<const Node>(std::move(changed));
}

}  // namespace

SeenTexts::Cursor SeenTexts::Cursor::next(uint8_t byte) const {
  if (node_ == nullptr) return {};
  if (at_ < node_->label.size()) {
    if (static_cast<uint8_t>(node_->label[at_]) != byte) return {};
    return Cursor(node_, at_ + 1);
  }
  const size_t at = node_->firsts.find(static_cast<char>(byte));
  return at == std::string::npos ? Cursor() : Cursor(node_->children[at].get(), 1);
}

SeenTexts SeenTexts::with(std::string_view text) const {
  static const Node kEmpty;
  SeenTexts result = *this;
  if (auto changed = with_text(root_ == nullptr ? kEmpty : *root_, text))
    result.root_ = std::move(changed);
  return result;
}

}  // namespace windrow::grammar
