#include "engine/schedule/prefix_tree.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/ensure.h"

namespace windrow::engine {

// By blocks, because prompts are long and often the same to their end.
int32_t common_prefix_size(std::span<const Token> a, std::span<const Token> b) {
  constexpr size_t kBlock = 64;
  const size_t size = std::min(a.size(), b.size());
  size_t common = 0;
  while (common + kBlock <= size &&
         std::memcmp(&a[common], &b[common], kBlock * sizeof(Token)) == 0) {
    common += kBlock;
  }
  while (common < size && a[common] == b[common])
    ++common;
  return static_cast<int32_t>(common);
}

struct PrefixTree::Node {
  Node* parent = nullptr;
  std::vector<Token> tokens;   // empty in the root only
  std::vector<int32_t> cells;  // one for each token
  KeptScores scores;
  std::vector<std::unique_ptr<Node>> children;
  std::vector<SequenceId> ends;  // paths that end with its last token
  int32_t holders = 0;           // paths through it or ending in it
  int32_t holders_live = 0;

  int32_t size() const { return static_cast<int32_t>(tokens.size()); }
};

PrefixTree::PrefixTree(int32_t sequences_max, Sharing sharing)
    : sharing_(sharing),
      root_(std::make_unique<Node>()),
      paths_(static_cast<size_t>(sequences_max)) {
  for (int32_t id = 0; id < sequences_max; ++id)
    free_.emplace(id);
}

PrefixTree::~PrefixTree() = default;

bool PrefixTree::contains(SequenceId sequence) const {
  const int32_t id = sequence.value();
  return id >= 0 && static_cast<size_t>(id) < paths_.size() &&
         paths_[static_cast<size_t>(id)].end != nullptr;
}

const PrefixTree::Path& PrefixTree::path(SequenceId sequence) const {
  ENSURE(contains(sequence), "sequence {} has no path", sequence.value());
  return paths_[static_cast<size_t>(sequence.value())];
}

PrefixTree::Path& PrefixTree::path(SequenceId sequence) {
  ENSURE(contains(sequence), "sequence {} has no path", sequence.value());
  return paths_[static_cast<size_t>(sequence.value())];
}

// --- lookups ------------------------------------------------------------------------------------

SequenceId PrefixTree::any_path_through(const Node& node) const {
  const Node* below = &node;
  while (below->ends.empty())
    below = below->children.front().get();
  return below->ends.front();
}

// How many of the node's cells hold the tokens from `begin` on, with the scores wanted.
int32_t PrefixTree::usable(const Node& node, int32_t begin, std::span<const Token> tokens,
                           const ScoresWanted* scores) {
  const std::span<const Token> left = tokens.subspan(static_cast<size_t>(begin));
  if (scores == nullptr) return common_prefix_size(node.tokens, left);
  const int32_t common = common_prefix_size(node.tokens, left.first(left.size() - 1));
  for (int32_t i = std::max(0, scores->from - begin); i < common; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!node.scores.has(at, left[at + 1], scores->top)) return i;
  }
  return common;
}

// Several children may begin with the same tokens: nodes are cells, not texts.
PrefixTree::Match PrefixTree::match_below(const Node& node, const Match& so_far,
                                          std::span<const Token> tokens,
                                          const ScoresWanted* scores) const {
  Match best;
  if (!node.ends.empty() || (sharing_ == Sharing::kAnyRange && so_far.tokens > 0)) {
    best = so_far;
    best.from = any_path_through(node);
  }
  for (const auto& child : node.children) {
    Match match = so_far;
    const int32_t common = usable(*child, so_far.tokens, tokens, scores);
    match.tokens += common;
    if (child->holders_live > 0) match.live_tokens = match.tokens;
    if (common == child->size()) {
      match = match_below(*child, match, tokens, scores);
    } else if (sharing_ == Sharing::kAnyRange && common > 0) {
      match.from = any_path_through(*child);
    } else {
      continue;
    }
    if (match.tokens > best.tokens) best = match;
  }
  return best;
}

PrefixTree::Match PrefixTree::longest_match(std::span<const Token> tokens) const {
  if (sharing_ == Sharing::kNothing || root_->holders == 0) return {};
  const Match match = match_below(*root_, {}, tokens, nullptr);
  return match.tokens > 0 ? match : Match{};
}

PrefixTree::Match PrefixTree::longest_match(std::span<const Token> tokens,
                                            const ScoresWanted& scores) const {
  ENSURE(!tokens.empty(), "a row without tokens has nothing to score");
  if (sharing_ == Sharing::kNothing || root_->holders == 0) return {};
  const Match match = match_below(*root_, {}, tokens, &scores);
  return match.tokens > 0 ? match : Match{};
}

// From the root to where the path ends.
std::vector<const PrefixTree::Node*> PrefixTree::nodes_of(SequenceId sequence) const {
  std::vector<const Node*> nodes;
  for (const Node* node = path(sequence).end; node != nullptr; node = node->parent)
    nodes.push_back(node);
  std::ranges::reverse(nodes);
  return nodes;
}

std::vector<Token> PrefixTree::tokens(SequenceId sequence) const {
  std::vector<Token> tokens;
  for (const Node* node : nodes_of(sequence))
    tokens.insert(tokens.end(), node->tokens.begin(), node->tokens.end());
  return tokens;
}

std::vector<KeptScore> PrefixTree::scores(SequenceId sequence, Position begin, Position end) const {
  std::vector<KeptScore> scores;
  Position position = 0;
  for (const Node* node : nodes_of(sequence)) {
    for (size_t i = 0; i < node->tokens.size() && position < end; ++i, ++position) {
      if (position < begin) continue;
      const KeptScore* score = node->scores.at(i);
      ENSURE(score != nullptr, "sequence {} has no score at {}", sequence.value(), position);
      scores.push_back(*score);
    }
  }
  return scores;
}

std::vector<Token> PrefixTree::scored_text(SequenceId sequence) const {
  std::vector<Token> text;
  for (const Node* node : nodes_of(sequence)) {
    for (size_t i = 0; i < node->tokens.size(); ++i) {
      // The path goes on with another token than the one scored last.
      if (!text.empty() && text.back() != node->tokens[i]) return text;
      const KeptScore* score = node->scores.at(i);
      if (score == nullptr) return text;
      if (text.empty()) text.push_back(node->tokens[i]);
      text.push_back(score->next);
    }
  }
  return text;
}

int32_t PrefixTree::shared_size(SequenceId sequence) const {
  int32_t size = path(sequence).tokens;
  for (const Node* node = path(sequence).end; node->holders == 1 && node->parent != nullptr;
       node = node->parent) {
    size -= node->size();
  }
  return size;
}

int32_t PrefixTree::cached_cells_of(std::span<const Match> prefixes) const {
  std::unordered_map<const Node*, int32_t> counted;  // the most that a prefix has of each node
  for (const Match& prefix : prefixes) {
    int32_t left = prefix.tokens;
    for (const Node* node : nodes_of(prefix.from)) {
      int32_t& most = counted[node];
      if (node->holders_live == 0) most = std::max(most, std::min(left, node->size()));
      left -= std::min(left, node->size());
    }
  }
  int32_t cells = 0;
  for (const auto& [node, count] : counted)
    cells += count;
  return cells;
}

std::vector<SequenceId> PrefixTree::cached() const {
  std::vector<SequenceId> cached;
  for (int32_t id = 0; static_cast<size_t>(id) < paths_.size(); ++id) {
    const Path& path = paths_[static_cast<size_t>(id)];
    if (path.end != nullptr && !path.live) cached.emplace_back(id);
  }
  std::ranges::sort(cached, {}, [&](SequenceId sequence) { return path(sequence).last_use; });
  return cached;
}

// --- the shape of the tree ----------------------------------------------------------------------

// The node keeps its first `tokens` tokens; the others become a child of its own.
void PrefixTree::split(Node& node, size_t tokens) {
  ENSURE(tokens > 0 && tokens < node.tokens.size(), "a split leaves tokens on both sides");
  auto below = std::make_unique<Node>();
  below->parent = &node;
  below->tokens.assign(node.tokens.begin() + static_cast<std::ptrdiff_t>(tokens),
                       node.tokens.end());
  node.tokens.resize(tokens);
  below->cells.assign(node.cells.begin() + static_cast<std::ptrdiff_t>(tokens), node.cells.end());
  node.cells.resize(tokens);
  below->scores = node.scores.split(tokens);
  below->children = std::exchange(node.children, {});
  for (const auto& child : below->children)
    child->parent = below.get();
  below->ends = std::exchange(node.ends, {});
  for (const SequenceId sequence : below->ends)
    path(sequence).end = below.get();
  below->holders = node.holders;
  below->holders_live = node.holders_live;
  node.children.push_back(std::move(below));
}

// The node in which the path's first `tokens` tokens end, after a split if one is needed.
PrefixTree::Node* PrefixTree::node_at(const Path& path, int32_t tokens) {
  Node* node = path.end;
  int32_t begin = path.tokens - node->size();
  while (node->parent != nullptr && begin >= tokens) {
    node = node->parent;
    begin -= node->size();
  }
  if (node->parent != nullptr && tokens < begin + node->size()) {
    split(*node, static_cast<size_t>(tokens - begin));
  }
  return node;
}

void PrefixTree::take_cells(Node& node, size_t count) {
  for (; count > 0; --count)
    node.cells.push_back(cells_.take());
}

// The cells keep their order, as in the model's memory.
void PrefixTree::compact() {
  std::vector<int32_t*> cells;
  std::vector<Node*> left = {root_.get()};
  while (!left.empty()) {
    Node* node = left.back();
    left.pop_back();
    for (int32_t& cell : node->cells)
      cells.push_back(&cell);
    for (const auto& child : node->children)
      left.push_back(child.get());
  }
  std::ranges::sort(cells, {}, [](const int32_t* cell) { return *cell; });
  cells_ = {};
  for (int32_t* cell : cells)
    *cell = cells_.take();
  changes_.push_back({.kind = MemoryChange::Kind::kCompact});
}

// One path more (or fewer) goes through `from` and all nodes above it.
void PrefixTree::count_holder(Node* from, bool live, int32_t by) {
  for (Node* node = from; node != nullptr; node = node->parent) {
    if (live && node->holders_live == 0) cells_live_ += node->size();
    node->holders += by;
    if (live) node->holders_live += by;
    if (live && node->holders_live == 0) cells_live_ -= node->size();
  }
}

// The path ends in `end` (null: nowhere). Nodes that this leaves without a path are freed.
void PrefixTree::move_end(SequenceId sequence, Node* end) {
  Path& moved = path(sequence);
  Node* before = moved.end;
  if (end != nullptr) {
    count_holder(end, moved.live, +1);
    end->ends.push_back(sequence);
  }
  count_holder(before, moved.live, -1);
  before->ends.erase(std::ranges::find(before->ends, sequence));
  if (end != nullptr) moved.end = end;
  tidy(before);
}

// Frees nodes that no path holds; joins a node with its only child where no path ends between.
void PrefixTree::tidy(Node* node) {
  while (node->parent != nullptr && node->holders == 0) {
    Node* parent = node->parent;
    for (const int32_t cell : node->cells)
      cells_.give_back(cell);
    std::erase_if(parent->children, [&](const auto& child) { return child.get() == node; });
    node = parent;
  }
  if (node->parent == nullptr || !node->ends.empty() || node->children.size() != 1) return;
  const std::unique_ptr<Node> child = std::move(node->children.front());
  node->scores.join(node->tokens.size(), std::move(child->scores));
  node->tokens.insert(node->tokens.end(), child->tokens.begin(), child->tokens.end());
  node->cells.insert(node->cells.end(), child->cells.begin(), child->cells.end());
  node->children = std::move(child->children);
  for (const auto& grandchild : node->children)
    grandchild->parent = node;
  node->ends = std::move(child->ends);
  for (const SequenceId sequence : node->ends)
    path(sequence).end = node;
}

// --- changes ------------------------------------------------------------------------------------

std::optional<SequenceId> PrefixTree::open() {
  if (free_.empty()) return std::nullopt;
  const SequenceId sequence = *free_.begin();
  free_.erase(free_.begin());
  paths_[static_cast<size_t>(sequence.value())] = Path{.end = root_.get(), .live = true};
  root_->ends.push_back(sequence);
  count_holder(root_.get(), true, +1);
  return sequence;
}

void PrefixTree::attach(SequenceId sequence, const Match& match) {
  if (match.tokens == 0) return;
  ENSURE(path(sequence).tokens == 0, "sequence {} has tokens already", sequence.value());
  Path& from = path(match.from);
  ENSURE(match.tokens <= from.tokens, "sequence {} has {} tokens of {}", match.from.value(),
         from.tokens, match.tokens);
  ENSURE(sharing_ == Sharing::kAnyRange ||
             (sharing_ == Sharing::kExactEnd && match.tokens == from.tokens),
         "the model cannot share {} of {} tokens", match.tokens, from.tokens);
  from.last_use = ++time_;
  move_end(sequence, node_at(from, match.tokens));
  path(sequence).tokens = match.tokens;
  changes_.push_back({.kind = MemoryChange::Kind::kShare,
                      .sequence = sequence,
                      .tokens = match.tokens,
                      .from = match.from});
}

void PrefixTree::extend(SequenceId sequence, std::span<const Token> tokens) {
  if (tokens.empty()) return;
  Path& extended = path(sequence);
  const auto added = static_cast<int32_t>(tokens.size());
  Node* end = extended.end;
  if (end->parent != nullptr && end->children.empty() && end->ends.size() == 1) {
    end->tokens.insert(end->tokens.end(), tokens.begin(), tokens.end());
    take_cells(*end, tokens.size());
    if (extended.live) cells_live_ += added;
  } else {
    auto child = std::make_unique<Node>();
    child->parent = end;
    child->tokens.assign(tokens.begin(), tokens.end());
    take_cells(*child, tokens.size());
    Node* below = child.get();
    end->children.push_back(std::move(child));
    move_end(sequence, below);
  }
  extended.tokens += added;
}

void PrefixTree::truncate(SequenceId sequence, int32_t tokens) {
  Path& shortened = path(sequence);
  ENSURE(tokens >= 0 && tokens <= shortened.tokens, "cannot keep {} tokens of {}", tokens,
         shortened.tokens);
  if (tokens == shortened.tokens) return;
  ENSURE(tokens == 0 || sharing_ == Sharing::kAnyRange, "the model cannot go back to {} tokens",
         tokens);
  move_end(sequence, node_at(shortened, tokens));
  shortened.tokens = tokens;
  changes_.push_back({.kind = MemoryChange::Kind::kTruncate,
                      .sequence = sequence,
                      .tokens = tokens,
                      .from = sequence});
}

// The change is recorded for an empty path, too: a step that failed may have left tokens.
void PrefixTree::release(SequenceId sequence) {
  move_end(sequence, nullptr);
  path(sequence) = {};
  free_.insert(sequence);
  changes_.push_back(
      {.kind = MemoryChange::Kind::kTruncate, .sequence = sequence, .from = sequence});
}

void PrefixTree::cache(SequenceId sequence) {
  Path& cached = path(sequence);
  ENSURE(cached.live, "sequence {} is cached already", sequence.value());
  for (Node* node = cached.end; node != nullptr; node = node->parent) {
    if (--node->holders_live == 0) cells_live_ -= node->size();
  }
  cached.live = false;
  cached.last_use = ++time_;
}

std::optional<SequenceId> PrefixTree::snapshot(SequenceId sequence) {
  ENSURE(sharing_ != Sharing::kNothing, "this model shares nothing");
  const std::optional<SequenceId> copy = open();
  if (!copy) return std::nullopt;
  attach(*copy, {.tokens = size(sequence), .from = sequence});
  cache(*copy);
  return copy;
}

void PrefixTree::keep_score(SequenceId sequence, Position position, KeptScore score) {
  const Path& scored = path(sequence);
  ENSURE(position >= 0 && position < scored.tokens, "a score at {} of {} tokens", position,
         scored.tokens);
  Node* node = scored.end;
  int32_t begin = scored.tokens - node->size();
  while (position < begin) {
    node = node->parent;
    begin -= node->size();
  }
  node->scores.keep(static_cast<size_t>(position - begin), std::move(score));
}

std::vector<MemoryChange> PrefixTree::take_changes() {
  return std::exchange(changes_, {});
}

}  // namespace windrow::engine
