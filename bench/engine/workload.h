// Workload: the rows that are measured. The same shape gives the same tokens in the same order on
// every machine, so contenders in other processes can be given them too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/types.h"

namespace windrow::bench {

struct Shape {
  int rows = 32;
  int groups = 1;  // the rows are dealt to them, each has a prefix of its own
  int shared_tokens = 0;
  int own_tokens = 128;  // of each row, behind the prefix; at least one
  int answer_tokens = 32;
  bool shuffle = false;  // else one group after the other
  uint64_t seed = 1;     // another one: other tokens and, when shuffled, another order

  int prompt_tokens() const { return shared_tokens + own_tokens; }
};

struct Row {
  int group = 0;
  std::vector<engine::Token> prompt;
};

// The rows in the order in which a contender gets them. `vocabulary_size` is at least 512: tokens
// are taken from the range that has neither bytes nor control tokens.
std::vector<Row> make_rows(const Shape& shape, int vocabulary_size);

// One line of JSON, {"group": 0, "prompt": [1, 2]}.
std::string to_json(const Row& row);

}  // namespace windrow::bench
