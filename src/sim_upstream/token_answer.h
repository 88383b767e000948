// The tokens of an answer, their log-probabilities and their rows. They depend on the seed and the
// ids of the prompt alone, so that the same request gets the same answer at any time, whichever
// form it has. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"
#include "sim_upstream/token_rows.h"

namespace windrow::sim_upstream {

// The rows that a server tells of; null: none. Immutable.
struct RowBanks {
  std::shared_ptr<const RowBank> sglang_experts;
  std::shared_ptr<const RowBank> sglang_indexer;
  std::shared_ptr<const RowBank> vllm_experts;  // in the narrowest type
};

RowBanks make_row_banks(const SimOptions& options);

struct TokenAnswer {
  std::vector<int32_t> prompt;
  std::vector<int32_t> ids;  // with the end token where it is not cut
  std::vector<double> logprobs;
  std::string text;
  bool cut = false;
  bool ends = false;  // its last token is the end token

  // As the reply has them; absent: not asked for, or the server has none.
  std::optional<RowsText> experts;
  std::optional<RowsText> indexer;
};

// What token `id` stands for in answers of words.
std::string token_text(const TokenOptions& options, int32_t id);

// The answer to choice `index` of all choices of all prompts. `number`: of the request, which
// matters for TokenOptions::routing_drift alone.
TokenAnswer token_answer(const SimOptions& options, const RowBanks& banks, const ActiveCall& call,
                         size_t index, uint64_t number);

// Whether the strike of `call` is one that changes what token_answer() or the reply say.
bool spoils_answer(const RowBanks& banks, const ActiveCall& call);

}  // namespace windrow::sim_upstream
