// PrefixTree: every token that lies computed in a model's memory, once, and the sequences that hold
// it. Pure: it keeps the books, and writes down what has to be done to the model's memory so that
// it agrees with them.
//
// It is a radix tree over tokens (RadixAttention, SGLang, NeurIPS 2024). A node is a run of tokens,
// each in a cell of its own. A path is what one sequence holds: the tokens from the root to the
// node where it ends, so a node belongs to every path through it and is gone with the last of them.
// A path is live while a row computes on it; at rest it is kept for rows to come, and may be taken
// away at any time. Two rows that computed the same tokens in the same step have two nodes with the
// same tokens: nodes are cells, not texts.
//
//   open    a live path without tokens             a row begins
//   share   take over the beginning of another     zero-copy: the cells get a further owner
//   extend  tokens that a step computed
//   cut     give back the tokens behind a place    (truncate)
//   close   give back all of them, and the id      (release)
//   rest    the row is over, its tokens stay; copy: a resting path beside a live one (snapshot)
//
// Scores that were computed behind tokens lie beside their cells (kept_scores.h) and are gone with
// them. A row that scores its prompt takes a cell over only where it needs no logits of it, or
// their score is kept: a match for it ends where a score is missing, is of another token, or has
// fewer alternatives than the row wants.
//
// What can be shared depends on the model (Sharing): any beginning of a path, or only all of it
// (recurrent states and sliding windows are there only for the end), or nothing. A fork of a row
// that runs and a session that comes back are the same: their tokens are found.
//
// Both cells and sequence ids are few; there are at most 256 ids in libllama, and each path takes
// one. Cells are counted here; who must give way when they run out is for the BatchScheduler to
// say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/cell_map.h"
#include "engine/schedule/kept_scores.h"

namespace windrow::engine {

// What a row that scores its tokens wants of those that it takes over.
struct ScoresWanted {
  Position from = 0;  // what follows each of its tokens from here on has to be scored,
  int32_t top = 0;    // with so many alternatives
};

// Used by one thread at a time. A sequence named to it is the path that has this id; it must be
// open.
class PrefixTree {
 public:
  struct Match {
    int32_t tokens = 0;                // the beginning that is there; 0: nothing
    int32_t live_tokens = 0;           // of these, such as a live path holds
    SequenceId from = SequenceId(-1);  // a path that has it
  };

  PrefixTree(int32_t sequences_max, Sharing sharing);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest beginning of `tokens` that a path could take over.
  Match longest_match(std::span<const Token> tokens) const;

  // The longest beginning that a row which scores these tokens could take over. It has not the last
  // of them: no token is behind that yet.
  Match longest_match(std::span<const Token> tokens, const ScoresWanted& scores) const;

  // None when all ids are taken; a lower id first.
  std::optional<SequenceId> open();

  // `sequence` has no tokens yet.
  void share(SequenceId sequence, const Match& match);

  void extend(SequenceId sequence, std::span<const Token> tokens);

  // Keeps the first so many. A model that shares only ends can give back nothing else than all.
  void cut(SequenceId sequence, int32_t tokens);

  void close(SequenceId sequence);

  void rest(SequenceId sequence);
  std::optional<SequenceId> copy(SequenceId sequence);

  // The score of what follows the sequence's token at `position`.
  void keep_score(SequenceId sequence, Position position, KeptScore score);

  // Of what follows its tokens from `begin` to before `end`; each of them has one.
  std::vector<KeptScore> scores(SequenceId sequence, Position begin, Position end) const;

  // Its tokens as far as each has a score of the next, with the token that was scored last behind
  // them. So of this text and the prompt of a row that scores it, all but one of the tokens that
  // they have in common can be taken over. Empty without scores.
  std::vector<Token> scored_text(SequenceId sequence) const;

  // Paths at rest, the one least recently rested or shared from first.
  std::vector<SequenceId> resting() const;

  bool contains(SequenceId sequence) const;
  bool is_live(SequenceId sequence) const { return path(sequence).live; }
  int32_t size(SequenceId sequence) const { return path(sequence).tokens; }
  std::vector<Token> tokens(SequenceId sequence) const;

  // How many of its first tokens other paths hold too.
  int32_t shared_size(SequenceId sequence) const;

  // Cells that hold a token, those of them that no live path needs, and how far up they reach.
  int32_t cells() const { return cells_.used(); }
  int32_t cells_resting() const { return cells_.used() - cells_live_; }
  int32_t cells_end() const { return cells_.end(); }

  // The cells move together, so that they reach no further up than they have to.
  void compact();

  int32_t sequences_free() const { return static_cast<int32_t>(free_.size()); }

  // What has happened since the last call, to be done to the model's memory in this order before
  // its next step.
  std::vector<MemoryChange> take_changes();

 private:
  struct Node;
  struct Path {
    Node* end = nullptr;  // null: the id is free
    int32_t tokens = 0;
    bool live = false;
    uint64_t used = 0;  // when it was last rested or shared from
  };

  const Path& path(SequenceId sequence) const;
  Path& path(SequenceId sequence);
  SequenceId any_path_through(const Node& node) const;
  std::vector<const Node*> nodes_of(SequenceId sequence) const;
  static int32_t usable(const Node& node, int32_t begin, std::span<const Token> tokens,
                        const ScoresWanted* scores);
  Match match_below(const Node& node, const Match& so_far, std::span<const Token> tokens,
                    const ScoresWanted* scores) const;
  Node* node_at(const Path& path, int32_t tokens);
  void split(Node& node, size_t tokens);
  void hold(Node* from, bool live, int32_t by);
  void take_cells(Node& node, size_t count);
  void move_end(SequenceId sequence, Node* end);
  void tidy(Node* node);

  const Sharing sharing_;
  std::unique_ptr<Node> root_;
  std::vector<Path> paths_;  // by sequence id
  std::set<SequenceId> free_;
  std::vector<MemoryChange> changes_;
  CellMap cells_;
  int32_t cells_live_ = 0;
  uint64_t time_ = 0;
};

}  // namespace windrow::engine
