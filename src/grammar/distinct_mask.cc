#include "grammar/distinct_mask.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace windrow::grammar {
namespace {

class Forbidding {
 public:
  Forbidding(const DistinctMaskInput& input, std::shared_ptr<const TokenMask> mask)
      : in_(input), mask_(std::move(mask)) {}

  std::shared_ptr<const TokenMask> run() {
    if (in_.distinct.is_seen_place(in_.point)) {
      if (!in_.distinct.ignores_plain(in_.point.state)) walk_along_seen(in_.tables.plain());
      walk_along_seen(in_.tables.special());
    }
    if (in_.at_risk != nullptr) try_each(*in_.at_risk);
    if (!changed_) return std::move(mask_);
    return std::make_shared<const TokenMask>(*std::move(changed_));
  }

 private:
  // Behind some bytes of a token.
  struct Place {
    TextPoint point;
    bool is_alive = false;  // the text can be like this; `point` is where it is
    bool ended = false;     // the text has ended, and line breaks follow

    // In a walk: the same by the state alone.
    StateId free = Recognizer::kDead;
    bool free_ended = false;
    SeenTexts::Cursor seen;
    bool differs = false;

    bool allows() const { return is_alive || ended; }
  };

  Place root() const {
    Place root{.point = in_.point, .is_alive = true, .free = in_.point.state};
    root.ended = root.free_ended = in_.begun && in_.recognizer.can_end(root.free);
    root.seen = in_.distinct.place_of(in_.point);
    return root;
  }

  void step(const Place& from, uint8_t byte, Place& to) {
    const bool breaks = from.ended && is_line_break(static_cast<char>(byte));
    to.is_alive = from.is_alive;
    if (from.is_alive) {
      to.point = from.point;
      to.is_alive = in_.distinct.step(to.point, in_.bytes, byte);
    }
    to.ended = breaks || (to.is_alive && in_.recognizer.can_end(to.point.state));
  }

  // As step(), with what a walk needs. Returns whether the state alone allows the byte.
  bool walk_step(const Place& from, uint8_t byte, Place& to) {
    const bool breaks = from.free_ended && is_line_break(static_cast<char>(byte));
    to.free = from.free == Recognizer::kDead ? from.free : in_.recognizer.step(from.free, byte);
    const bool is_free = to.free != Recognizer::kDead;
    if (!is_free && !breaks) return false;
    to.free_ended = breaks || (is_free && in_.recognizer.can_end(to.free));
    step(from, byte, to);
    to.seen = to.is_alive ? in_.distinct.place_of(to.point) : SeenTexts::Cursor();
    to.differs = to.is_alive != is_free || (is_free && to.point.state != to.free) ||
                 to.ended != to.free_ended;
    return true;
  }

  // Where the text is as the state alone has it, only bytes of texts seen can change that.
  void walk_along_seen(const TokenTrie& trie) {
    places_.resize(std::max<size_t>(places_.size(), size_t{1} + trie.depth_max()));
    places_[0] = root();
    for (unsigned byte = 0; byte < 256; ++byte) {
      const uint32_t node = trie.root_child(static_cast<uint8_t>(byte));
      if (node != TokenTrie::kNone) walk_subtree(trie, node);
    }
  }

  void walk_subtree(const TokenTrie& trie, uint32_t root) {
    const std::span<const TokenTrie::Node> nodes = trie.nodes();
    const uint32_t end = nodes[root].end;
    for (uint32_t at = root; at < end;) {
      const TokenTrie::Node& node = nodes[at];
      const Place& before = places_[node.depth - 1U];
      Place& here = places_[node.depth];
      if ((!before.differs && !before.seen.next(node.byte).is_on()) ||
          !walk_step(before, node.byte, here)) {
        at = node.end;
      } else if (!here.allows()) {
        for (const Token token : trie.subtree_tokens(at))
          forbid(token);
        at = node.end;
      } else {
        ++at;
      }
    }
  }

  // What a token has in common with the one before it is not looked at again.
  void try_each(std::span<const Token> tokens) {
    std::string_view before;
    places_.resize(std::max<size_t>(places_.size(), in_.tables.token_bytes_max() + 1));
    places_[0] = root();
    for (const Token token : tokens) {
      const std::string_view bytes = in_.tables.bytes(token);
      size_t at = static_cast<size_t>(std::ranges::mismatch(before, bytes).in2 - bytes.begin());
      for (; at < bytes.size(); ++at)
        step(places_[at], static_cast<uint8_t>(bytes[at]), places_[at + 1]);
      before = bytes;
      if (!places_[at].allows()) forbid(token);
    }
  }

  void forbid(Token token) {
    if (!mask_->allows(token)) return;
    if (!changed_) changed_ = *mask_;
    changed_->forbid(token);
  }

  const DistinctMaskInput& in_;
  std::shared_ptr<const TokenMask> mask_;
  std::optional<TokenMask> changed_;
  std::vector<Place> places_;  // by bytes read
};

}  // namespace

std::shared_ptr<const TokenMask> distinct_mask(const DistinctMaskInput& input,
                                               std::shared_ptr<const TokenMask> mask) {
  return Forbidding(input, std::move(mask)).run();
}

}  // namespace windrow::grammar
