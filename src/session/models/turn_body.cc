#include "session/models/turn_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "json/parse.h"

namespace windrow::session {

namespace json = boost::json;

namespace {

// Fields that clients of the reference server send, and that the session answers for or that
// concern the text of an answer, which is made here of its tokens: a client's values count for
// nothing.
constexpr std::array<std::string_view, 10> kForced = {"return_meta_info",
                                                      "no_stop_trim",
                                                      "return_routed_experts",
                                                      "return_indexer_topk",
                                                      "return_logprob",
                                                      "return_sampling_mask",
                                                      "return_token_ids",
                                                      "skip_special_tokens",
                                                      "return_tokens_as_token_ids",
                                                      "spaces_between_special_tokens"};

// Closes the object `text` with one more member, a list of token ids. Written by hand, because a
// document of 100,000 numbers costs more than all else of a turn.
void add_ids(std::string_view name, std::span<const int32_t> ids, std::string& text) {
  text.pop_back();
  text += text.size() > 1 ? ",\"" : "\"";
  text += name;
  text += "\":[";
  constexpr size_t kCharacters = 7;  // of most ids, with the comma
  text.reserve(text.size() + ids.size() * kCharacters + 2);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text += ',';
    const fmt::format_int number(ids[i]);
    text.append(number.data(), number.size());
  }
  text += "]}";
}

bool wants(const TurnQuestion& question, RowKind kind) {
  return question.rows[static_cast<size_t>(kind)].wanted;
}

void ask_for_rows(const TurnQuestion& question, json::object& body) {
  if (wants(question, RowKind::kRoutedExperts)) body["return_routed_experts"] = true;
  if (wants(question, RowKind::kIndexerTopk)) body["return_indexer_topk"] = true;
}

// The first row that the server is asked for; nothing if all are wanted.
std::optional<int64_t> rows_begin(const TurnQuestion& question) {
  const WantedRows& rows = question.rows[static_cast<size_t>(RowKind::kRoutedExperts)];
  if (!rows.wanted || rows.reply_begins_at == 0) return std::nullopt;
  return static_cast<int64_t>(rows.reply_begins_at);
}

json::object without(const json::object& body, std::span<const std::string_view> names) {
  json::object kept = body;
  for (const std::string_view name : names)
    kept.erase(name);
  return kept;
}

TurnBody sglang_chat(const SessionModel& model, const TurnQuestion& question) {
  // Rows that the session does not want are large for nothing.
  constexpr std::array<std::string_view, 5> kOwn = {"stream", "stream_options", "input_ids",
                                                    "return_routed_experts", "return_indexer_topk"};
  json::object body = without(question.body, kOwn);
  if (!body.contains("model")) body["model"] = model.name;
  body["logprobs"] = true;
  body["return_meta_info"] = true;
  ask_for_rows(question, body);
  body["no_stop_trim"] = false;
  if (const auto begin = rows_begin(question)) body["routed_experts_start_len"] = *begin;
  TurnBody made{.text = json::serialize(body), .target = "/v1/chat/completions"};
  add_ids("input_ids", question.prompt, made.text);
  body.erase("messages");
  made.sent = std::move(body);
  return made;
}

llm::Failure not_elsewhere(std::string_view what, std::string param) {
  return {.code = "unsupported_by_model",
          .message = fmt::format("{} cannot be asked of this model: its server is asked by tokens, "
                                 "and enforces no form of calls; leave it out",
                                 what),
          .param = std::move(param)};
}

// How an answer is held to a form, in the words of the two servers.
std::optional<llm::Failure> add_structure(const llm::Request& request, bool vllm,
                                          json::object& to) {
  if (llm::has_to_call(request.chat.tool_choice))
    return not_elsewhere("a tool_choice that demands a call", "tool_choice");
  if (!request.structured) return std::nullopt;
  const llm::StructureSpec& spec = *request.structured;
  json::object structure;
  switch (spec.kind) {
    case llm::StructureSpec::Kind::kJsonSchema:
      if (vllm) {
        structure["json"] = parse_written_json(spec.text);
      } else {
        structure["json_schema"] = spec.text;
      }
      break;
    case llm::StructureSpec::Kind::kJsonObject:
      if (vllm) {
        structure["json_object"] = true;
      } else {
        structure["json_schema"] = R"({"type":"object"})";
      }
      break;
    case llm::StructureSpec::Kind::kRegex:
      structure["regex"] = spec.text;
      break;
    case llm::StructureSpec::Kind::kChoice:
      if (!vllm) return not_elsewhere("a list of choices", spec.param);
      structure["choice"] = json::array(spec.choices.begin(), spec.choices.end());
      break;
    case llm::StructureSpec::Kind::kGrammar:
      return not_elsewhere("a grammar", spec.param);
    case llm::StructureSpec::Kind::kToolCalls:
      return std::nullopt;  // calls that may be made: the answer is read, not held to them
  }
  if (vllm) {
    to["structured_outputs"] = std::move(structure);
  } else {
    for (auto& [name, value] : structure)
      to[name] = std::move(value);
  }
  return std::nullopt;
}

// Parameters that both servers call alike.
void add_sampling(const llm::Request& request, json::object& to) {
  const llm::Sampling& sampling = request.sampling;
  to["temperature"] = sampling.temperature;
  to["top_p"] = sampling.top_p;
  // vLLM takes 0 and -1 for all tokens, SGLang -1 alone.
  to["top_k"] = sampling.top_k == 0 ? -1 : sampling.top_k;
  if (sampling.min_p != 0) to["min_p"] = sampling.min_p;
  if (sampling.presence_penalty != 0) to["presence_penalty"] = sampling.presence_penalty;
  if (sampling.frequency_penalty != 0) to["frequency_penalty"] = sampling.frequency_penalty;
  if (sampling.repetition_penalty != 1) to["repetition_penalty"] = sampling.repetition_penalty;
  if (!sampling.logit_bias.empty()) {
    json::object biases;
    for (const llm::LogitBias& bias : sampling.logit_bias)
      biases[std::to_string(bias.token)] = bias.bias;
    to["logit_bias"] = std::move(biases);
  }
  if (!request.stop.empty()) to["stop"] = json::array(request.stop.begin(), request.stop.end());
  if (!request.stop_tokens.empty())
    to["stop_token_ids"] = json::array(request.stop_tokens.begin(), request.stop_tokens.end());
  if (request.ignore_eos) to["ignore_eos"] = true;
  to["skip_special_tokens"] = false;
}

int64_t output_tokens(const SessionModel& model, const TurnQuestion& question,
                      const llm::Request& request, const TurnBodyRules& rules) {
  if (request.output_tokens_max) return *request.output_tokens_max;
  const int64_t left = int64_t{model.tokenizer->context_tokens_max()} - std::ssize(question.prompt);
  return left > 0 ? std::min(rules.output_tokens_default, left) : rules.output_tokens_default;
}

}  // namespace

std::variant<TurnBody, llm::Failure> make_turn_body(const SessionModel& model,
                                                    const TurnQuestion& question,
                                                    const TurnBodyRules& rules) {
  if (model.kind == ModelKind::kSglangChat) return sglang_chat(model, question);

  json::object body = without(question.body, kForced);
  body["model"] = model.name;
  llm::complete_body(llm::Endpoint::kChatCompletions, rules.body, body);
  const bool has_seed = llm::has_seed(body);
  auto read = llm::read_body(llm::Endpoint::kChatCompletions, rules.body, body, 1);
  if (auto* failure = std::get_if<llm::Failure>(&read)) return std::move(*failure);
  TurnBody made{.request = std::get<llm::ReadBody>(std::move(read)).request};
  llm::Request& request = made.request;

  if (model.kind == ModelKind::kEmbedded) {
    request.chat_tokens = question.prompt;
    request.chat.messages.clear();
    request.return_token_ids = true;
    request.logprobs_top = std::max(request.logprobs_top.value_or(0), 0);
    body.erase("messages");
    made.sent = std::move(body);
    return made;
  }

  const bool vllm = model.kind == ModelKind::kVllmCompletions;
  json::object sampling;
  add_sampling(request, sampling);
  if (auto failure = add_structure(request, vllm, sampling)) return *std::move(failure);
  if (has_seed)
    sampling[vllm ? "seed" : "sampling_seed"] = static_cast<int64_t>(request.sampling.seed);
  const int64_t tokens_max = output_tokens(model, question, request, rules);
  json::object sent;
  if (vllm) {
    made.target = "/v1/completions";
    sent = std::move(sampling);
    sent["model"] = model.name;
    sent["max_tokens"] = tokens_max;
    sent["logprobs"] = 0;
    sent["return_token_ids"] = true;
    if (const auto begin = rows_begin(question)) sent["routed_experts_prompt_start"] = *begin;
    if (rules.streams) {
      sent["stream"] = true;
      sent["stream_options"] = {{"include_usage", true}};
    }
    made.text = json::serialize(sent);
    add_ids("prompt", question.prompt, made.text);
  } else {
    made.target = "/generate";
    sampling["max_new_tokens"] = tokens_max;
    // The end token is one of the conversation's tokens.
    sampling["no_stop_trim"] = true;
    sent["sampling_params"] = std::move(sampling);
    sent["return_logprob"] = true;
    ask_for_rows(question, sent);
    if (const auto begin = rows_begin(question)) sent["routed_experts_start_len"] = *begin;
    if (rules.streams) sent["stream"] = true;
    made.text = json::serialize(sent);
    add_ids("input_ids", question.prompt, made.text);
  }
  made.sent = std::move(sent);
  return made;
}

}  // namespace windrow::session
