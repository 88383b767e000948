// PrefixTree: which tokens lie computed in a model's KV memory, and which sequences hold them. A
// radix tree over tokens (RadixAttention, SGLang, NeurIPS 2024). Pure: it does the accounting and
// records the changes that the model's memory needs to agree with it. Used by one thread at a time.
//
// A node is a run of tokens, each in a cell of its own. A path is what one sequence holds: the
// tokens from the root to the node where it ends. A node belongs to every path through it and is
// freed with the last of them. A path is live while a row computes on it; a cached path is kept for
// later rows and may be evicted at any time. (What is evicted is for KvMemory to decide.)
//
// Invariants:
//  * Nodes are cells, not texts: two rows that computed the same tokens in the same step have two
//    nodes with the same tokens.
//  * What may be shared depends on the model (Sharing): any prefix of a path; or only all of it
//    (recurrent state and sliding windows exist for the end only); or nothing.
//  * Scores computed behind tokens (KeptScores) lie beside their cells and are freed with them. A
//    row that scores its prompt shares a cell only where it needs no logits of it or their score is
//    kept: its match ends where a score is missing, belongs to another next token, or has fewer
//    alternatives than the row wants.
//
// Sequence ids are as scarce as cells: libllama has at most 256, and each path takes one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/kv_cells.h"

namespace windrow::engine {

// How many of their first tokens are the same.
int32_t common_prefix_size(std::span<const Token> a, std::span<const Token> b);

// The scores that a row needs for the tokens it shares.
struct ScoresWanted {
  Position from = 0;  // of every token from here on, the score of the next token
  int32_t top = 0;    // with at least so many alternatives
};

// Methods that take a SequenceId require an open path with this id, if nothing else is said.
class PrefixTree {
 public:
  struct Match {
    int32_t tokens = 0;                // size of the prefix found; 0: none
    int32_t live_tokens = 0;           // how much of it live paths hold
    SequenceId from = SequenceId(-1);  // a path that has it
  };

  PrefixTree(int32_t sequences_max, Sharing sharing);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest prefix of `tokens` that a sequence could attach.
  Match longest_match(std::span<const Token> tokens) const;

  // The same for a row that scores `tokens`, which are not empty. Their last token is never part of
  // it: its next token is not known.
  Match longest_match(std::span<const Token> tokens, const ScoresWanted& scores) const;

  // Opens a live, empty path with the lowest free id; nothing when all ids are taken.
  std::optional<SequenceId> open();

  // The empty path `sequence` takes over a match. Copies nothing: the cells get another owner.
  void attach(SequenceId sequence, const Match& match);

  // Appends tokens that were computed; each takes a cell.
  void extend(SequenceId sequence, std::span<const Token> tokens);

  // Keeps the first `tokens` tokens. A model that shares only ends can keep all or none.
  void truncate(SequenceId sequence, int32_t tokens);

  // Frees the id and every cell that no other path holds.
  void release(SequenceId sequence);

  // The live path becomes a cached one.
  void cache(SequenceId sequence);

  // Adds a cached path with the same tokens; nothing when all ids are taken.
  std::optional<SequenceId> snapshot(SequenceId sequence);

  // Keeps the score of what follows the sequence's token at `position`.
  void keep_score(SequenceId sequence, Position position, KeptScore score);

  // The scores of what follows its tokens from `begin` to before `end`; all of them must be kept.
  std::vector<KeptScore> scores(SequenceId sequence, Position begin, Position end) const;

  // Its tokens as far as each has a score of the next one, followed by the token that was scored
  // last. A row that scores a prompt can attach all but one of the tokens that the prompt has in
  // common with this text. Empty without scores.
  std::vector<Token> scored_text(SequenceId sequence) const;

  // The cached paths; first the one whose last use (cached, or attached from) is longest ago.
  std::vector<SequenceId> cached() const;

  // Whether a path with this id is open.
  bool contains(SequenceId sequence) const;
  bool is_live(SequenceId sequence) const { return path(sequence).live; }
  int32_t size(SequenceId sequence) const { return path(sequence).tokens; }
  std::vector<Token> tokens(SequenceId sequence) const;

  // How many of its first tokens other paths hold too.
  int32_t shared_size(SequenceId sequence) const;

  // How many cells these prefixes of open paths have together that no live path holds.
  int32_t cached_cells_of(std::span<const Match> prefixes) const;

  // Cells that hold a token; those of them that only cached paths hold; one past the highest.
  int32_t cells() const { return cells_.used(); }
  int32_t cells_cached() const { return cells_.used() - cells_live_; }
  int32_t cells_end() const { return cells_.end(); }

  // Moves all cells together at the low end of the memory.
  void compact();

  int32_t sequences_free() const { return static_cast<int32_t>(free_.size()); }

  // The changes since the last call, to be applied to the model's memory in this order before its
  // next step.
  std::vector<MemoryChange> take_changes();

 private:
  struct Node;
  struct Path {
    Node* end = nullptr;  // null: the id is free
    int32_t tokens = 0;
    bool live = false;
    uint64_t last_use = 0;
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
  void count_holder(Node* from, bool live, int32_t by);
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
