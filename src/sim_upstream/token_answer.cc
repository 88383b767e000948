#include "sim_upstream/token_answer.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "sim_upstream/answer_text.h"
#include "sim_upstream/prefix_cache.h"

namespace windrow::sim_upstream {
namespace {

// Seeds that differ from those of answers.
constexpr uint64_t kTokenSeed = 0x746F6B656E;
constexpr uint64_t kExpertSeed = 0x6578706572;
constexpr uint64_t kIndexerSeed = 0x696E646578;

int32_t draw_id(const TokenOptions& options, Random& random) {
  return static_cast<int32_t>(random.between(options.first_id, options.last_id));
}

// Each token of four bytes is an id.
std::vector<int32_t> ids_of_text(const TokenOptions& options, std::string_view text) {
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size(); at += kTokenBytes) {
    Random random(hash64(text.substr(at, kTokenBytes)));
    ids.push_back(draw_id(options, random));
  }
  return ids;
}

// As servers have it, which compute in single precision and write it in double.
double draw_logprob(Random& random) {
  const double unit = 1e-6 + random.unit();
  return static_cast<double>(static_cast<float>(-4 * unit * unit * unit));
}

std::string text_of(const TokenOptions& options, const TokenAnswer& answer) {
  std::string text;
  for (size_t i = 0; i + (answer.ends ? 1 : 0) < answer.ids.size(); ++i)
    text += token_text(options, answer.ids[i]);
  return text.starts_with(' ') ? text.substr(1) : text;
}

RowsText make_rows(const std::shared_ptr<const RowBank>& bank, const TokenAnswer& answer,
                   int64_t first, uint64_t seed, bool with_head, const ActiveCall& call) {
  std::vector<uint8_t> rows = rows_of_tokens(answer.prompt, answer.ids, first, *bank, seed);
  if (call.is_struck_by(FaultKind::kFewRows) && !rows.empty()) rows.pop_back();
  std::string head = with_head ? npy_head(bank->shape(), rows.size()) : "";
  RowsText text(bank, std::move(rows), std::move(head));
  if (call.is_struck_by(FaultKind::kBadBase64)) text.break_in_the_middle();
  return text;
}

bool wants_experts(const RowBanks& banks, const ActiveCall& call) {
  const TokenWishes& wishes = call.request.wishes;
  if (!wishes.routed_experts) return false;
  if (wishes.form != TokenForm::kTokenIds) return banks.sglang_experts != nullptr;
  return banks.vllm_experts != nullptr && !call.request.stream;
}

bool wants_indexer(const RowBanks& banks, const ActiveCall& call) {
  return call.request.wishes.indexer_topk && banks.sglang_indexer != nullptr;
}

}  // namespace

RowBanks make_row_banks(const SimOptions& options) {
  RowBanks banks;
  const TokenOptions& tokens = options.tokens;
  if (tokens.routing_layers > 0) {
    RowShape shape{.layers = tokens.routing_layers,
                   .topk = tokens.routing_topk,
                   .below = tokens.routing_experts};
    banks.sglang_experts = std::make_shared<RowBank>(shape, options.seed ^ kExpertSeed);
    shape.value_bytes = shape.below <= 256 ? 1 : shape.below <= 65536 ? 2 : 4;
    banks.vllm_experts = std::make_shared<RowBank>(shape, options.seed ^ kExpertSeed);
  }
  if (tokens.indexer_layers > 0) {
    const RowShape shape{.layers = tokens.indexer_layers,
                         .topk = tokens.indexer_topk,
                         .below = std::max(options.context_tokens, tokens.indexer_topk)};
    banks.sglang_indexer = std::make_shared<RowBank>(shape, options.seed ^ kIndexerSeed);
  }
  return banks;
}

std::string token_text(const TokenOptions& options, int32_t id) {
  if (id == options.end_id) return "</s>";
  return " " + std::string(answer_word(static_cast<uint64_t>(id)));
}

TokenAnswer token_answer(const SimOptions& options, const RowBanks& banks, const ActiveCall& call,
                         size_t index, uint64_t number) {
  const TokenOptions& tokens = options.tokens;
  const auto per_prompt = static_cast<size_t>(call.request.choices);
  const auto choice = static_cast<int32_t>(index % per_prompt);
  const Prompt& prompt = call.request.prompts.at(index / per_prompt);
  TokenAnswer answer{.prompt = prompt.ids.empty() ? ids_of_text(tokens, prompt.text) : prompt.ids,
                     .cut = call.cut.at(index)};
  const auto count = static_cast<size_t>(call.answer_tokens.at(index));
  Random random(hash64(prompt.text, options.seed ^ kTokenSeed) + static_cast<uint64_t>(choice));
  for (size_t i = 0; i < count; ++i) {
    answer.ids.push_back(draw_id(tokens, random));
    answer.logprobs.push_back(draw_logprob(random));
  }
  answer.ends = !answer.cut && count > 0;
  if (answer.ends) answer.ids.back() = tokens.end_id;
  answer.text = options.answer == AnswerKind::kText && !call.request.wants_json
                    ? text_of(tokens, answer)
                    : answer_text(options, call.request, index / per_prompt, choice,
                                  static_cast<int64_t>(count));
  if (call.is_struck_by(FaultKind::kLogprobCount) && count > 0) answer.logprobs.pop_back();

  const bool vllm = call.request.wishes.form == TokenForm::kTokenIds;
  const uint64_t drift = tokens.routing_drift ? Random(number).next() : 0;
  const uint64_t seed = options.seed ^ drift;
  if (wants_experts(banks, call)) {
    answer.experts = make_rows(vllm ? banks.vllm_experts : banks.sglang_experts, answer,
                               call.request.wishes.rows_start, seed ^ kExpertSeed, vllm, call);
  }
  if (wants_indexer(banks, call))
    answer.indexer = make_rows(banks.sglang_indexer, answer, 0, seed ^ kIndexerSeed, false, call);
  return answer;
}

bool spoils_answer(const RowBanks& banks, const ActiveCall& call) {
  if (!call.strike) return false;
  const TokenWishes& wishes = call.request.wishes;
  switch (call.strike->kind) {
    case FaultKind::kNullContent:
      return call.request.endpoint == Endpoint::kChat && !call.request.stream;
    case FaultKind::kNoTokens:
      return wishes.form != TokenForm::kNone;
    case FaultKind::kLogprobCount:
      return wishes.form != TokenForm::kNone && wishes.logprobs && call.longest_answer() > 0;
    case FaultKind::kFewRows:
    case FaultKind::kBadBase64:
      return wants_experts(banks, call) || wants_indexer(banks, call);
    default:
      return false;
  }
}

}  // namespace windrow::sim_upstream
