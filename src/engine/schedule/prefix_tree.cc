#include "engine/schedule/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "base/ensure.h"
#include "engine/schedule/waiting_prompts.h"

namespace windrow::engine {

struct PrefixTree::Node {
  Node* parent = nullptr;
  std::vector<Token> tokens;   // not empty but for the root
  std::vector<int32_t> cells;  // one each
  KeptScores scores;           // beside them
  std::vector<std::unique_ptr<Node>> children;
  std::vector<SequenceId> ends;  // paths that end with the last of the tokens
  int32_t holders = 0;           // paths through it or to its end
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

// --- looking ------------------------------------------------------------------------------------

SequenceId PrefixTree::any_path_through(const Node& node) const {
  const Node* below = &node;
  while (below->ends.empty())
    below = below->children.front().get();
  return below->ends.front();
}

// So many of the node's cells hold what `tokens` have from `begin` on, with the scores wanted.
int32_t PrefixTree::usable(const Node& node, int32_t begin, std::span<const Token> tokens,
                           const ScoresWanted* scores) {
  const std::span<const Token> left = tokens.subspan(static_cast<size_t>(begin));
  if (scores == nullptr) return common_beginning(node.tokens, left);
  const int32_t common = common_beginning(node.tokens, left.first(left.size() - 1));
  for (int32_t place = std::max(0, scores->from - begin); place < common; ++place) {
    const auto at = static_cast<size_t>(place);
    if (!node.scores.has(at, left[at + 1], scores->top)) return place;
  }
  return common;
}

// Several children may begin alike: nodes are cells, and the same tokens may lie in two.
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
    for (size_t place = 0; place < node->tokens.size() && position < end; ++place, ++position) {
      if (position < begin) continue;
      const KeptScore* score = node->scores.at(place);
      ENSURE(score != nullptr, "sequence {} has no score at {}", sequence.value(), position);
      scores.push_back(*score);
    }
  }
  return scores;
}

std::vector<Token> PrefixTree::scored_text(SequenceId sequence) const {
  std::vector<Token> text;
  for (const Node* node : nodes_of(sequence)) {
    for (size_t place = 0; place < node->tokens.size(); ++place) {
      // What was scored last is not what the path goes on with.
      if (!text.empty() && text.back() != node->tokens[place]) return text;
      const KeptScore* score = node->scores.at(place);
      if (score == nullptr) return text;
      if (text.empty()) text.push_back(node->tokens[place]);
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

std::vector<SequenceId> PrefixTree::resting() const {
  std::vector<SequenceId> resting;
  for (int32_t id = 0; static_cast<size_t>(id) < paths_.size(); ++id) {
    const Path& path = paths_[static_cast<size_t>(id)];
    if (path.end != nullptr && !path.live) resting.emplace_back(id);
  }
  std::ranges::sort(resting, {}, [&](SequenceId sequence) { return path(sequence).used; });
  return resting;
}

// --- the shape of the tree ----------------------------------------------------------------------

// The node's last tokens become a child of their own.
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

// Where the path's first so many tokens end; a node is split there if it has to be.
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

// In the order in which they lie, as the model's memory does it too.
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

// One path more, or fewer, goes through `from` and everything above it.
void PrefixTree::hold(Node* from, bool live, int32_t by) {
  for (Node* node = from; node != nullptr; node = node->parent) {
    if (live && node->holders_live == 0) cells_live_ += node->size();
    node->holders += by;
    if (live) node->holders_live += by;
    if (live && node->holders_live == 0) cells_live_ -= node->size();
  }
}

// The way between old and new end is tidied afterwards.
void PrefixTree::move_end(SequenceId sequence, Node* end) {
  Path& moved = path(sequence);
  Node* before = moved.end;
  if (end != nullptr) {
    hold(end, moved.live, +1);
    end->ends.push_back(sequence);
  }
  hold(before, moved.live, -1);
  before->ends.erase(std::ranges::find(before->ends, sequence));
  if (end != nullptr) moved.end = end;
  tidy(before);
}

// Takes away nodes that no path needs, and joins one that only one child is left of with it.
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

// --- the verbs ----------------------------------------------------------------------------------

std::optional<SequenceId> PrefixTree::open() {
  if (free_.empty()) return std::nullopt;
  const SequenceId sequence = *free_.begin();
  free_.erase(free_.begin());
  paths_[static_cast<size_t>(sequence.value())] = Path{.end = root_.get(), .live = true};
  root_->ends.push_back(sequence);
  hold(root_.get(), true, +1);
  return sequence;
}

void PrefixTree::share(SequenceId sequence, const Match& match) {
  if (match.tokens == 0) return;
  ENSURE(path(sequence).tokens == 0, "sequence {} has tokens already", sequence.value());
  Path& from = path(match.from);
  ENSURE(match.tokens <= from.tokens, "sequence {} has {} tokens of {}", match.from.value(),
         from.tokens, match.tokens);
  ENSURE(sharing_ == Sharing::kAnyRange ||
             (sharing_ == Sharing::kExactEnd && match.tokens == from.tokens),
         "the model cannot share {} of {} tokens", match.tokens, from.tokens);
  from.used = ++time_;
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

void PrefixTree::cut(SequenceId sequence, int32_t tokens) {
  Path& shortened = path(sequence);
  ENSURE(tokens >= 0 && tokens <= shortened.tokens, "{} tokens of {} are to stay", tokens,
         shortened.tokens);
  if (tokens == shortened.tokens) return;
  ENSURE(tokens == 0 || sharing_ == Sharing::kAnyRange, "the model cannot go back to {} tokens",
         tokens);
  move_end(sequence, node_at(shortened, tokens));
  shortened.tokens = tokens;
  changes_.push_back(
      {.kind = MemoryChange::Kind::kCut, .sequence = sequence, .tokens = tokens, .from = sequence});
}

// Also one without tokens: a step that failed may have left some.
void PrefixTree::close(SequenceId sequence) {
  move_end(sequence, nullptr);
  path(sequence) = {};
  free_.insert(sequence);
  changes_.push_back({.kind = MemoryChange::Kind::kCut, .sequence = sequence, .from = sequence});
}

void PrefixTree::rest(SequenceId sequence) {
  Path& resting = path(sequence);
  ENSURE(resting.live, "sequence {} rests already", sequence.value());
  for (Node* node = resting.end; node != nullptr; node = node->parent) {
    if (--node->holders_live == 0) cells_live_ -= node->size();
  }
  resting.live = false;
  resting.used = ++time_;
}

std::optional<SequenceId> PrefixTree::copy(SequenceId sequence) {
  ENSURE(sharing_ != Sharing::kNothing, "this model shares nothing");
  const std::optional<SequenceId> copied = open();
  if (!copied) return std::nullopt;
  share(*copied, {.tokens = size(sequence), .from = sequence});
  rest(*copied);
  return copied;
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
