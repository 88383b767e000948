// Turns for tests, made without a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "session/history/turn.h"

namespace windrow::session::testing {

// `count` rows of `values_per_row` numbers: seed, seed + 1, ...
inline std::shared_ptr<const TokenRows> rows_from(size_t first_row, size_t count,
                                                  size_t values_per_row, int32_t seed) {
  std::vector<int32_t> values(count * values_per_row);
  std::iota(values.begin(), values.end(), seed);
  auto rows = std::make_shared<TokenRows>();
  rows->first_row = first_row;
  rows->values_per_row = values_per_row;
  rows->values.append(values);
  return rows;
}

struct TurnBuilder {
  uint64_t id = 1;
  uint64_t parent = 0;
  size_t kept = 0;  // tokens of the parent's conversation
  std::vector<int32_t> prompt;
  std::vector<int32_t> sampled;
  std::vector<double> logprobs;  // empty: -1, -2, ...
  std::string finish_reason = "stop";
  std::shared_ptr<const TokenRows> routed_experts;
  TurnFigures figures;
  std::string reply_members;  // JSON; empty: none
  double asked_at_unix_s = 0;
  double answered_at_unix_s = 0;

  std::shared_ptr<const Turn> build() const {
    auto turn = std::make_shared<Turn>();
    turn->id = TurnId(id);
    turn->parent = TurnId(parent);
    turn->kept_tokens = kept;
    turn->prompt = prompt;
    turn->sampled = sampled;
    turn->logprobs = logprobs;
    for (size_t i = 0; logprobs.empty() && i < sampled.size(); ++i)
      turn->logprobs.push_back(-static_cast<double>(i + 1));
    turn->rows[static_cast<size_t>(RowKind::kRoutedExperts)] = routed_experts;
    turn->finish_reason = finish_reason;
    turn->figures = figures;
    if (!reply_members.empty())
      turn->reply_members = std::make_shared<const std::string>(reply_members);
    turn->asked_at_unix_s = asked_at_unix_s;
    turn->answered_at_unix_s = answered_at_unix_s;
    return turn;
  }
};

}  // namespace windrow::session::testing
