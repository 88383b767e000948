// KvMemory: the cells and sequence ids of a model's KV memory: who holds them, which prefixes stay
// cached when a row ends, and what is evicted when they run short. Pure; used by one thread at a
// time.
//
// A prefix is cached for one of two reasons. Waiting rows begin with it: then exactly what they
// have in common with it stays, because cells that no row needs make every step slower. Or its row
// asked for it (`keep`, such as the turns of a chat): then it stays within a share of what the
// running rows need, least recently used out first; while no row runs it costs nothing and all of
// it stays. Or it is held (llm::PrefixHold): then as much of it as is computed stays, and is
// evicted last. Whatever is cached is evicted before a row is preempted.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/host/model_runner.h"
#include "engine/host/types.h"
#include "engine/schedule/kv_cells.h"
#include "engine/schedule/prefix_tree.h"
#include "engine/schedule/scheduled_row.h"

namespace windrow::engine {

// A shorter prefix is worth neither waiting for nor a sequence id: the control tokens that every
// chat begins with are that long.
constexpr int32_t kPrefixTokensMin = 16;

// Texts by name, sorted: the longest prefix in common with any of them is that with one of two
// neighbours. The prompts of waiting rows, and the prefixes that are held.
class SortedPrompts {
 public:
  // `tokens` must stay where they are until the text is removed, with the same tokens.
  void add(uint64_t name, std::span<const Token> tokens);
  void remove(uint64_t name, std::span<const Token> tokens);

  bool empty() const { return prompts_.empty(); }

  // The size of the longest prefix of `tokens` that one of the texts begins with.
  int32_t longest_common(std::span<const Token> tokens) const;

 private:
  struct Prompt {
    std::span<const Token> tokens;
    uint64_t name;
  };
  struct Before {
    bool operator()(const Prompt& a, const Prompt& b) const;
  };

  std::set<Prompt, Before> prompts_;
};

struct KvMemoryLimits {
  int32_t cells_max = 0;
  int32_t sequences_max = 0;
  Sharing sharing = Sharing::kNothing;
  int32_t compact_cells_max = 0;  // RunnerLimits::compact_cells_max
};

class KvMemory {
 public:
  explicit KvMemory(const KvMemoryLimits& limits);

  const KvMemoryLimits& limits() const { return limits_; }

  // --- rows that have not begun: their prompts say which prefixes are worth keeping ---

  // Between the two calls the row's known tokens and outputs_from must not change.
  void add_waiting(const ScheduledRow& row);
  void remove_waiting(const ScheduledRow& row);

  // How many of the row's first tokens a waiting row could share with it.
  int32_t wanted_by_waiting(const ScheduledRow& row) const;

  // --- held prefixes ---

  // `tokens` is worth keeping, as far as it is computed, until the hold is released.
  void hold(HoldId hold, std::vector<Token> tokens);
  void release_hold(HoldId hold);

  // Cells of the cached prefixes that are held.
  int32_t cells_held() const;

  // The longest computed prefix that the row could share.
  PrefixTree::Match match(const ScheduledRow& row) const;

  // --- sequences of rows ---

  // Opens a sequence for a row; one must be free (make_room_for_sequence).
  SequenceId open();

  // The sequence, which is empty, takes over a match.
  void attach(SequenceId sequence, const PrefixTree::Match& match);

  // The model has computed these tokens behind those of the sequence. Cells must be free.
  void extend(SequenceId sequence, std::span<const Token> tokens);

  // Frees the id, and the cells that no other sequence holds.
  void release(SequenceId sequence);

  // The row of this sequence has ended. All of it stays cached (`keep`), or what waiting rows want
  // of it or is held, or nothing.
  void release_or_cache(SequenceId sequence, bool keep);

  // Caches a copy of the sequence, if all of it is wanted by a waiting row or held, and an id is
  // free.
  void snapshot_if_wanted(SequenceId sequence);

  // Keeps the score of what follows the token at `position`, until its cell is freed.
  void keep_score(SequenceId sequence, Position position, KeptScore score);

  // The kept scores of what follows the tokens from `begin` to before `end`; all are kept.
  std::vector<KeptScore> scores(SequenceId sequence, Position begin, Position end) const;

  // --- eviction of cached prefixes ---

  // Evicts until so many cells are free; false when they are not and nothing is left to evict.
  bool make_room(int32_t cells);

  // Evicts one prefix if no sequence id is free; false when there is none to evict. `spare_wanted`:
  // no prefix that a waiting row wants.
  bool make_room_for_sequence(bool spare_wanted);

  // Evicts the least recently used prefix: of those that no waiting row wants and
  // that are not held, else of those that are not held, else of all.
  bool evict_one(bool spare_wanted = false);

  // Evicts what is no longer wanted, while so many rows run.
  void evict_unwanted(size_t rows_running);

  void evict_all();

  // --- the model's memory ---

  // To be called for every step: moves the cells together when that is likely to pay. (A step costs
  // by the highest cell in use.)
  void compact_if_worthwhile();

  // PrefixTree::take_changes.
  std::vector<MemoryChange> take_changes() { return tree_.take_changes(); }

  int32_t cells() const { return tree_.cells(); }
  int32_t cells_free() const { return limits_.cells_max - tree_.cells(); }
  int32_t cells_live() const { return tree_.cells() - tree_.cells_cached(); }
  int32_t cells_cached() const { return tree_.cells_cached(); }
  int32_t cells_end() const { return tree_.cells_end(); }

 private:
  int32_t wanted_prefix(SequenceId sequence) const;
  int32_t wanted_size(SequenceId sequence) const;
  int32_t held_prefix(SequenceId sequence) const;
  int32_t held_size(SequenceId sequence) const;
  void note_held(SequenceId sequence);
  void note_held_of_all();
  int32_t kept_size(SequenceId sequence, int32_t common) const;

  const KvMemoryLimits limits_;
  PrefixTree tree_;
  SortedPrompts prompts_;         // of rows that have not begun: what they may share unscored
  SortedPrompts scored_prompts_;  // of those that take scores: all they know
  std::unordered_map<HoldId, std::vector<Token>> holds_;
  SortedPrompts held_;  // the tokens of holds_

  // By sequence id: what a cached path has in common with a held text. Noted when one of the two
  // changes, so that a step costs nothing by how long they are.
  std::vector<int32_t> held_common_;

  std::vector<bool> keep_;  // by sequence id: cached because its row asked for it
  int32_t steps_since_compaction_ = 0;
};

}  // namespace windrow::engine
