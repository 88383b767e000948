// RowPlanner: which of the rows that were read goes next. Rows whose prompts begin alike go side by
// side, so that whoever answers them (the engine, or a server with a cache of prefixes) computes
// what they share once.
//
// It works in rounds. A round is all that is there when it begins:
//   groups first: rows of one endpoint and model whose prompts share a beginning, longer by a block
//     (prompt_key.h) than what all such rows of the round share. Those that decode more than they
//     prefill come before the others, so that long answers run beside later prompts and not alone
//     at the end; then the longest shared beginning comes first, then the oldest row;
//   within a group its own groups, by the same rules, and then its other rows;
//   then the rows that share nothing, embeddings and rerank among them.
// What is not said here is in the order of the file: where nothing is shared, everything is.
//
// A row that arrives while a group that it belongs to is going out joins it; any other waits for
// the next round. So rounds are also what keeps the order fair: see LookAhead::overtaken_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "batch/prompt_key.h"
#include "batch/row.h"

namespace windrow::batch {

struct LookAhead {
  size_t rows_max = 10'000;
  size_t bytes_max = size_t{64} << 20;  // of their lines, keys and overhead
  size_t joins_max = 1'000;             // rows that join the groups of one round

  // No row is overtaken by more rows that were added after it. While it waits for its round, only
  // rows that join overtake it; in its round also those that began the round with it.
  size_t overtaken_max() const { return rows_max + 2 * joins_max; }
};

// Pure, and used by one thread at a time. add() costs what its key is compared with the groups that
// are open; next() is O(log n) comparisons of keys on average, as each round is sorted once.
class RowPlanner {
 public:
  explicit RowPlanner(LookAhead limits = {}) : limits_(limits) {}

  // Whether a row of that cost may be added. Where there is none, any may: a row above the bound
  // passes alone.
  bool has_room(size_t cost) const {
    return size_ == 0 || (size_ < limits_.rows_max && bytes_ + cost <= limits_.bytes_max);
  }

  // Whether it is worth waking somebody who waits for room: one that brings many rows at once costs
  // less than one that is woken for each.
  bool has_much_room() const {
    return size_ <= limits_.rows_max - limits_.rows_max / 64 &&
           bytes_ <= limits_.bytes_max - limits_.bytes_max / 64;
  }

  // Of a row and its key, against LookAhead::bytes_max.
  static size_t cost_of(const Row& row, const PromptKey& key);

  // `key` is prompt_key(row.request); to make it is the costly part and needs no planner.
  void add(Row row, PromptKey key);

  // The row that goes next; nothing when there is none.
  std::optional<Row> next();

  size_t size() const { return size_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Waiting {
    Row row;
    PromptKey key;
    uint64_t number = 0;  // the order of add()
    size_t cost = 0;
  };
  using Rows = std::vector<std::unique_ptr<Waiting>>;

  // What the rows of a group and of its groups come to.
  struct Sums {
    size_t rows = 0;
    size_t prompt_bytes = 0;
    size_t decode_tokens = 0;  // at most; of a row without a limit nothing is known, and none
    uint64_t oldest = UINT64_MAX;

    void add(const Waiting& row);
    void add(const Sums& other);
  };

  // Rows that begin with the same `blocks` numbers; the whole round, where that is 0.
  struct Group {
    size_t blocks = 0;
    uint32_t prefix = 0;  // the last of these numbers, which stands for all of them
    Sums sums;

    std::vector<Group> groups;  // those that share more; the next one last
    Rows rows;                  // that share no more with any other; the next one last
    Rows late;                  // arrived meanwhile

    bool decodes_much() const;
    bool goes_before(const Group& other) const;
  };

  static Group plan(Rows rows);
  static void close_group(std::vector<Group>& open, size_t parent_blocks, uint32_t parent_prefix);
  static void take_apart(Group whole, Group& round);
  static void put_in_order(Group& group);
  Group* group_to_join(const PromptKey& key);

  const LookAhead limits_;
  Rows waiting_;             // for the next round
  std::vector<Group> open_;  // the round, the group of it that goes out, the group of that...
  size_t joined_ = 0;        // in this round
  size_t size_ = 0;
  size_t bytes_ = 0;
  uint64_t added_ = 0;
};

}  // namespace windrow::batch
