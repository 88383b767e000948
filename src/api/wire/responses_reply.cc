#include "api/wire/responses_reply.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "json/depth.h"
#include "json/writer.h"
#include "llm/answer_json.h"
#include "llm/logprobs_json.h"

namespace windrow::api {

namespace json = boost::json;

using Kind = AnswerBlock::Kind;

namespace {

std::string_view to_string(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kInProgress:
      return "in_progress";
    case ResponseStatus::kCompleted:
      return "completed";
    case ResponseStatus::kIncomplete:
      return "incomplete";
    case ResponseStatus::kFailed:
      return "failed";
  }
  return "";
}

std::string_view status_of_item(ItemState state) {
  if (state.in_progress) return "in_progress";
  if (state.cut) return "incomplete";
  if (state.ending == nullptr) return "completed";
  return to_string(status_of(*state.ending));
}

bool is_json(std::string_view text) {
  boost::system::error_code error;
  boost::json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  return !error;
}

void append_token_counts(const llm::Usage& usage, std::string& text) {
  append_format(text,
                R"({{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{}}},)"
                R"("output_tokens":{},"output_tokens_details":{{"reasoning_tokens":{}}},)"
                R"("total_tokens":{}}})",
                usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens,
                usage.reasoning_tokens, usage.prompt_tokens + usage.completion_tokens);
}

// One that says nothing has an empty text.
std::vector<AnswerBlock> output_blocks(const llm::Answer& answer) {
  std::vector<AnswerBlock> blocks;
  if (!answer.choices.empty()) blocks = blocks_of(answer.choices.front());
  if (blocks.empty()) blocks.push_back({.kind = Kind::kText});
  return blocks;
}

// The codes that the API has for an error of a response.
std::string_view error_code(const llm::Failure& failure) {
  if (failure.status == 429) return "rate_limit_exceeded";
  if (failure.status == 408) return "server_error";
  return failure.status >= 400 && failure.status < 500 ? "invalid_prompt" : "server_error";
}

}  // namespace

std::string responses_echo(const json::object& echo, const json::object& chat, bool raw) {
  json::object members{{"background", false},
                       {"instructions", nullptr},
                       {"max_output_tokens", nullptr},
                       {"max_tool_calls", nullptr},
                       {"metadata", json::object()},
                       {"parallel_tool_calls", true},
                       {"previous_response_id", nullptr},
                       {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                       {"store", false},
                       {"text", {{"format", {{"type", "text"}}}}},
                       {"tool_choice", "auto"},
                       {"tools", json::array()},
                       {"top_logprobs", 0},
                       {"truncation", "disabled"}};
  for (const auto& [name, value] : echo)
    members[name] = value;
  json::object& text = members["text"].as_object();
  if (!text.contains("format") || text["format"].is_null()) text["format"] = {{"type", "text"}};
  std::string written = json::serialize(members);
  written.back() = ',';
  // In the form in which numbers are usually written: Boost writes 1E0.
  for (const std::string_view name : {"temperature", "top_p"}) {
    written += fmt::format(R"("{}":)", name);
    const json::value* given = chat.if_contains(name);
    const bool is_number = given != nullptr && given->is_number();
    if (is_number || !raw) {
      append_json(is_number ? given->to_number<float>() : 1.0F, written);
    } else {
      written += "null";
    }
    written += ',';
  }
  return written.substr(1);
}

std::string response_of(const ChatFacts& facts, const llm::Answer& answer) {
  const std::vector<AnswerBlock> blocks = output_blocks(answer);
  const AnswerEnding ending = ending_of(answer);
  std::string text;
  append_response(facts, status_of(ending), blocks, &ending, nullptr, text);
  return text;
}

std::vector<std::string> output_ids(std::string_view answer_id, const llm::Answer& answer) {
  return item_ids(answer_id, output_blocks(answer));
}

ResponseStatus status_of(const AnswerEnding& ending) {
  const bool cut =
      ending.reason == llm::FinishReason::kLength || ending.reason == llm::FinishReason::kFiltered;
  return cut ? ResponseStatus::kIncomplete : ResponseStatus::kCompleted;
}

void append_response(const ChatFacts& facts, ResponseStatus status,
                     std::span<const AnswerBlock> blocks, const AnswerEnding* ending,
                     const llm::Failure* failure, std::string& text) {
  append_format(text, R"({{"id":"resp_{}","object":"response","created_at":{},"status":"{}",)",
                facts.id, facts.created_unix_s, to_string(status));
  text += R"("error":)";
  if (failure == nullptr) {
    text += "null";
  } else {
    append_format(text, R"({{"code":"{}","message":)", error_code(*failure));
    append_json(failure->message, text);
    text += '}';
  }
  text += R"(,"incomplete_details":)";
  if (status == ResponseStatus::kIncomplete) {
    append_format(
        text, R"({{"reason":"{}"}})",
        ending->reason == llm::FinishReason::kLength ? "max_output_tokens" : "content_filter");
  } else {
    text += "null";
  }
  text += R"(,"model":)";
  append_json(facts.model, text);
  text += ',';
  text += facts.echo;
  if (!facts.service_tier.empty()) {
    text += R"("service_tier":)";
    append_json(facts.service_tier, text);
    text += ',';
  }
  text += R"("output":)";
  size_t index = 0;
  append_json_array(text, blocks, [&](const AnswerBlock& block) {
    const bool last = index + 1 == blocks.size();
    const ItemState state{.ending = last ? ending : nullptr,
                          .in_progress = last && status == ResponseStatus::kInProgress,
                          .cut = last && status == ResponseStatus::kFailed};
    append_item(facts, block, index++, state, text);
  });
  text += R"(,"usage":)";
  if (ending == nullptr) {
    text += "null";
  } else {
    append_token_counts(ending->usage, text);
  }
  text += '}';
}

std::string item_id(std::string_view answer_id, const AnswerBlock& block, size_t index) {
  const std::string_view prefix = block.kind == Kind::kThoughts ? "rs"
                                  : block.kind == Kind::kCall   ? "fc"
                                                                : "msg";
  return fmt::format("{}_{}{}", prefix, answer_id, index);
}

std::vector<std::string> item_ids(std::string_view answer_id, std::span<const AnswerBlock> blocks) {
  std::vector<std::string> ids;
  ids.reserve(blocks.size());
  for (const AnswerBlock& block : blocks)
    ids.push_back(item_id(answer_id, block, ids.size()));
  return ids;
}

void append_item(const ChatFacts& facts, const AnswerBlock& block, size_t index, ItemState state,
                 std::string& text) {
  append_format(text, R"({{"id":"{}",)", item_id(facts.id, block, index));
  // A call that broke off in the middle is none, however the answer ended.
  if (block.kind == Kind::kCall && !state.in_progress && !block.text.empty() &&
      !is_json(block.text))
    state.cut = true;
  const std::string_view status = status_of_item(state);
  if (block.kind == Kind::kCall) {
    append_format(text, R"("type":"function_call","status":"{}","call_id":)", status);
    append_json(call_id(block.call_id, facts.id, index), text);
    text += R"(,"name":)";
    append_json(block.call_name, text);
    text += R"(,"arguments":)";
    append_json(block.text, text);
    text += '}';
    return;
  }
  const bool thoughts = block.kind == Kind::kThoughts;
  if (thoughts) {
    append_format(text, R"("type":"reasoning","status":"{}","summary":[],"content":[)", status);
  } else {
    append_format(text, R"("type":"message","status":"{}","role":"assistant","content":[)", status);
  }
  // An item that was just added has no part yet.
  if (!state.in_progress || !block.text.empty()) append_part(facts, block, text);
  text += ']';
  if (state.ending != nullptr && !thoughts) {
    const std::optional<llm::StructureLabel> label = state.ending->structure;
    if (label) append_format(text, R"(,"structure":"{}")", llm::to_string(*label));
    if (state.ending->cut_character) text += R"(,"cut_character":true)";
    llm::append_structure_warnings(state.ending->structure_warnings, text);
  }
  text += '}';
}

void append_part(const ChatFacts& facts, const AnswerBlock& block, std::string& text) {
  if (block.kind == Kind::kThoughts) {
    text += R"({"type":"reasoning_text","text":)";
    append_json(block.text, text);
  } else if (block.kind == Kind::kRefusal) {
    text += R"({"type":"refusal","refusal":)";
    append_json(block.text, text);
  } else {
    text += R"({"type":"output_text","text":)";
    append_json(block.text, text);
    text += R"(,"annotations":[],"logprobs":)";
    if (facts.logprobs) {
      llm::append_token_logprobs(block.tokens, text);
    } else {
      text += "[]";
    }
  }
  text += '}';
}

}  // namespace windrow::api
