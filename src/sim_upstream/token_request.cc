#include "sim_upstream/token_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim_upstream/model_call.h"
#include "sim_upstream/request_members.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr int64_t kRowsStartMax = int64_t{1} << 40;

Result<void> read_rows_start(const json::object& body, std::string_view name, ModelCall& call) {
  const Result<std::optional<int64_t>> start = whole_number(body, name, 0, kRowsStartMax);
  if (!start) return start.error();
  call.wishes.rows_start = start->value_or(0);
  for (const Prompt& prompt : call.prompts) {
    if (call.wishes.rows_start > prompt.tokens) {
      return refusal(fmt::format("{} {} is higher than the number of input tokens {}", name,
                                 call.wishes.rows_start, prompt.tokens));
    }
  }
  return {};
}

// SGLang's fields, of chats and of /generate.
Result<void> read_rows(const json::object& body, ModelCall& call) {
  call.wishes.routed_experts = is_set(body, "return_routed_experts");
  call.wishes.indexer_topk = is_set(body, "return_indexer_topk");
  call.wishes.prompt_ids = is_set(body, "return_prompt_token_ids");
  return read_rows_start(body, "routed_experts_start_len", call);
}

Result<void> read_chat(const json::object& body, ModelCall& call) {
  for (const std::string_view name : {"return_meta_info", "return_prompt_token_ids"}) {
    if (!is_set(body, name) || !call.stream) continue;
    return refusal(
        fmt::format("{0} is not supported with streaming. Please set stream=false when "
                    "using {0}=true.",
                    name));
  }
  if (!is_set(body, "return_meta_info")) return {};
  call.wishes.form = TokenForm::kMetaInfo;
  call.wishes.logprobs = is_set(body, "logprobs");
  return read_rows(body, call);
}

// Here the rows are a setting of the server.
Result<void> read_completion(const json::object& body, ModelCall& call) {
  const bool ids = is_set(body, "return_token_ids");
  call.wishes.ids_as_tokens = is_set(body, "return_tokens_as_token_ids");
  if (!ids && !call.wishes.ids_as_tokens) return {};
  constexpr int64_t kLogprobsMax = 1000;
  const Result<std::optional<int64_t>> logprobs = whole_number(body, "logprobs", -1, kLogprobsMax);
  if (!logprobs) return logprobs.error();
  call.wishes.form = TokenForm::kTokenIds;
  call.wishes.logprobs = logprobs->has_value();
  call.wishes.prompt_ids = ids;
  call.wishes.routed_experts = true;
  return read_rows_start(body, "routed_experts_prompt_start", call);
}

}  // namespace

Result<void> read_token_wishes(const json::object& body, ModelCall& call) {
  return call.endpoint == Endpoint::kChat ? read_chat(body, call) : read_completion(body, call);
}

Result<void> read_generate(const json::object& body, ModelCall& call) {
  constexpr int64_t kTokensMax = int64_t{1} << 40;
  constexpr int64_t kTokensDefault = 128;
  const json::value* ids = member(body, "input_ids");
  const json::value* text = member(body, "text");
  if (ids == nullptr && text == nullptr)
    return refusal("Either text, input_ids or input_embeds should be provided.");
  if (ids != nullptr) {
    if (ids->is_array() && ids->get_array().empty()) return refusal("input_ids cannot be empty.");
    Result<std::vector<int32_t>> read = token_ids(*ids, "input_ids");
    if (!read) return read.error();
    call.prompts.push_back(id_prompt(*std::move(read)));
  } else {
    if (!text->is_string()) return refusal("text must be a text: one prompt");
    call.prompts.push_back(text_prompt(std::string(text->get_string())));
  }
  const json::value* params = member(body, "sampling_params");
  if (params != nullptr && !params->is_object())
    return refusal("sampling_params must be an object: one prompt has one answer");
  const json::object sampling = params == nullptr ? json::object() : params->get_object();
  const Result<std::optional<int64_t>> tokens =
      whole_number(sampling, "max_new_tokens", 0, kTokensMax);
  if (!tokens) return tokens.error();
  call.answer_tokens_max = tokens->value_or(kTokensDefault);
  if (const Result<std::optional<int64_t>> one = whole_number(sampling, "n", 1, 1); !one)
    return one.error();
  call.stream = is_set(body, "stream");
  call.wishes.form = TokenForm::kGenerate;
  call.wishes.logprobs = is_set(body, "return_logprob");
  return read_rows(body, call);
}

}  // namespace windrow::sim_upstream
