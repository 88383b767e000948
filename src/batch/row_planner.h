// RowPlanner: the order in which rows are submitted. Rows whose prompts have a common prefix go
// side by side, so that the backend (the engine, or a server with a prefix cache) computes the
// prefix once.
//
// It works in rounds. A round has all rows that are queued when it begins, in this order:
//   groups first: rows of one endpoint and model with a common prefix that is longer by a block
//     (PromptKey) than what all such rows of the round have in common. Groups that decode more
//     than they prefill come before the others, so that long answers run beside later prompts and
//     not alone at the end; then the longest prefix comes first, then the oldest row;
//   within a group its own groups, by the same rules, and then its other rows;
//   then the rows without a common prefix, embeddings and rerank among them.
// Otherwise the order is that of the file.
//
// A row that arrives while its group is being submitted joins it; any other waits for the next
// round. So rounds also keep the order fair: see LookAhead::overtaken_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "batch/row.h"
#include "llm/request.h"

namespace windrow::batch {

// The granularity in which common prefixes are measured; a shorter one would save nothing.
inline constexpr size_t kPromptBlockBytes = 32;

// Hashes of the prefixes of a prompt, in an eighth of its bytes, so that the common prefix of two
// prompts can be measured without their texts. The first number stands for endpoint and model, each
// further one for the prompt up to the end of one more block. So two keys agree as far as the
// prompts do, in whole blocks. (Two different prompts agree by chance in one of 2^32 cases; then
// rows run side by side without a benefit.)
struct PromptKey {
  std::vector<uint32_t> blocks;  // empty where prefixes cannot be shared, as for embeddings
  size_t prompt_bytes = 0;       // approximate; four bytes are about a token

  size_t bytes() const { return blocks.size() * sizeof(uint32_t); }
};

// The length of the common beginning of two keys.
size_t shared_blocks(const PromptKey& one, const PromptKey& other);

// Pure. The prompt of a chat is assumed to begin with its tools and template arguments, as in most
// templates, followed by its messages.
PromptKey prompt_key(const llm::Request& request);

// That of the row's request. The input of a program is no prompt: it has no prefix.
PromptKey prompt_key(const Row& row);

struct LookAhead {
  size_t rows_max = 10'000;
  size_t bytes_max = size_t{64} << 20;  // of lines, keys and overhead
  size_t joins_max = 1'000;             // rows that join groups of one round

  // The highest number of later rows that overtake a row. Before its round only rows that join
  // groups overtake it; in its round also rows of the same round.
  size_t overtaken_max() const { return rows_max + 2 * joins_max; }
};

// Pure; used by one thread at a time. add() compares the key with the open groups; next() takes
// O(log n) comparisons of keys on average, as each round is sorted once.
class RowPlanner {
 public:
  explicit RowPlanner(LookAhead limits = {}) : limits_(limits) {}

  // Whether a row of that cost may be added. An empty planner accepts any: a row above the bound
  // passes alone.
  bool has_room(size_t cost) const {
    return size_ == 0 || (size_ < limits_.rows_max && bytes_ + cost <= limits_.bytes_max);
  }

  // Whether there is room enough to wake a waiting producer: adding many rows at once costs less
  // than waking up for each.
  bool has_much_room() const {
    return size_ <= limits_.rows_max - limits_.rows_max / 64 &&
           bytes_ <= limits_.bytes_max - limits_.bytes_max / 64;
  }

  // The bytes of a row and its key, counted against LookAhead::bytes_max.
  static size_t cost_of(const Row& row, const PromptKey& key);

  // `key` is prompt_key(row). Computing it is the costly part, and needs no lock.
  void add(Row row, PromptKey key);

  // Removes and returns the next row; nothing when there is none.
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

  // Sums over the rows of a group and of its subgroups.
  struct Sums {
    size_t rows = 0;
    size_t prompt_bytes = 0;
    size_t decode_tokens = 0;  // upper bound; 0 for rows without a limit
    uint64_t oldest = UINT64_MAX;

    void add(const Waiting& row);
    void add(const Sums& other);
  };

  // Rows whose keys have the same first `blocks` numbers; the whole round, where that is 0.
  struct Group {
    size_t blocks = 0;
    uint32_t prefix = 0;  // the last of these numbers, which identifies all of them
    Sums sums;

    std::vector<Group> groups;  // subgroups with longer prefixes; the next one last
    Rows rows;                  // in no subgroup; the next one last
    Rows late;                  // joined since the round began

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
  std::vector<Group> open_;  // the round, its current group, the current subgroup of that...
  size_t joined_ = 0;        // in this round
  size_t size_ = 0;
  size_t bytes_ = 0;
  uint64_t added_ = 0;
};

}  // namespace windrow::batch
