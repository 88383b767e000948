#include "api/wire/responses_reply.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "json/limits.h"
#include "json/writer.h"
#include "llm/answer_json.h"

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

// An empty answer has one empty text.
std::vector<AnswerBlock> output_blocks(const llm::Answer& answer) {
  std::vector<AnswerBlock> blocks;
  if (!answer.choices.empty()) blocks = blocks_of(answer.choices.front());
  if (blocks.empty()) blocks.push_back({.kind = Kind::kText});
  return blocks;
}

// The error codes that the API defines for a response.
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
  // As numbers are usually written: Boost writes 1E0.
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

std::string response_of(const ReplyFacts& facts, const llm::Answer& answer) {
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

void append_response(const ReplyFacts& facts, ResponseStatus status,
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
  const std::string_view prefix = block.kind == Kind::kReasoning ? "rs"
                                  : block.kind == Kind::kCall    ? "fc"
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

void append_item(const ReplyFacts& facts, const AnswerBlock& block, size_t index, ItemState state,
                 std::string& text) {
  append_format(text, R"({{"id":"{}",)", item_id(facts.id, block, index));
  // A truncated call is incomplete, however the answer ended.
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
  const bool thoughts = block.kind == Kind::kReasoning;
  if (thoughts) {
    append_format(text, R"("type":"reasoning","status":"{}","summary":[],"content":[)", status);
  } else {
    append_format(text, R"("type":"message","status":"{}","role":"assistant","content":[)", status);
  }
  // A new item has no parts yet.
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

void append_part(const ReplyFacts& facts, const AnswerBlock& block, std::string& text) {
  if (block.kind == Kind::kReasoning) {
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

using Kind = AnswerBlock::Kind;

namespace {

// The prefix of the events with a block's text: "response.output_text" + ".delta".
std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kReasoning:
      return "response.reasoning_text";
    case Kind::kText:
      return "response.output_text";
    case Kind::kRefusal:
      return "response.refusal";
    case Kind::kCall:
      break;
  }
  return "response.function_call_arguments";
}

// The member with the whole text in the last event of a block.
std::string_view member_of(Kind kind) {
  if (kind == Kind::kCall) return "arguments";
  return kind == Kind::kRefusal ? "refusal" : "text";
}

bool has_parts(Kind kind) {
  return kind != Kind::kCall;
}

}  // namespace

ResponsesStream::ResponsesStream(ReplyFacts facts, KeepResponse keep)
    : facts_(std::move(facts)), keep_(std::move(keep)) {}

void ResponsesStream::begin_event(std::string_view type, std::string& events) {
  append_format(events, "event: {}\ndata: {{\"type\":\"{}\",\"sequence_number\":{}", type, type,
                sequence_++);
}

void ResponsesStream::begin_event_of(std::string_view type, const AnswerBlock& block, size_t index,
                                     std::string& events) {
  begin_event(type, events);
  append_format(events, R"(,"item_id":"{}","output_index":{})", item_id(facts_.id, block, index),
                index);
  if (has_parts(block.kind)) events += R"(,"content_index":0)";
}

void ResponsesStream::begin(std::string& events) {
  for (const std::string_view type : {"response.created", "response.in_progress"}) {
    begin_event(type, events);
    events += R"(,"response":)";
    append_response(facts_, ResponseStatus::kInProgress, {}, nullptr, nullptr, events);
    end_event(events);
  }
}

void ResponsesStream::open(const AnswerBlock& block, size_t index, std::string& events) {
  begin_event("response.output_item.added", events);
  append_format(events, R"(,"output_index":{},"item":)", index);
  append_item(facts_, block, index, {.in_progress = true}, events);
  end_event(events);
  if (!has_parts(block.kind)) return;
  begin_event_of("response.content_part.added", block, index, events);
  events += R"(,"part":)";
  append_part(facts_, block, events);
  end_event(events);
}

void ResponsesStream::more(const AnswerBlock& block, size_t index, std::string_view text,
                           std::span<const llm::ScoredToken> tokens, std::string& events) {
  begin_event_of(std::string(name_of(block.kind)) + ".delta", block, index, events);
  events += R"(,"delta":)";
  append_json(text, events);
  if (block.kind == Kind::kText) {
    events += R"(,"logprobs":)";
    if (facts_.logprobs) {
      llm::append_token_logprobs(tokens, events);
    } else {
      events += "[]";
    }
  }
  end_event(events);
}

void ResponsesStream::close(const AnswerBlock& block, size_t index, const AnswerEnding* ending,
                            std::string& events) {
  begin_event_of(std::string(name_of(block.kind)) + ".done", block, index, events);
  if (block.kind == Kind::kCall) {
    events += R"(,"name":)";
    append_json(block.call_name, events);
  }
  append_format(events, R"(,"{}":)", member_of(block.kind));
  append_json(block.text, events);
  if (block.kind == Kind::kText) {
    events += R"(,"logprobs":)";
    if (facts_.logprobs) {
      llm::append_token_logprobs(block.tokens, events);
    } else {
      events += "[]";
    }
  }
  end_event(events);
  if (has_parts(block.kind)) {
    begin_event_of("response.content_part.done", block, index, events);
    events += R"(,"part":)";
    append_part(facts_, block, events);
    end_event(events);
  }
  begin_event("response.output_item.done", events);
  append_format(events, R"(,"output_index":{},"item":)", index);
  append_item(facts_, block, index, {.ending = ending}, events);
  end_event(events);
}

void ResponsesStream::finish(const AnswerEnding& ending, std::string& events) {
  const ResponseStatus status = status_of(ending);
  begin_event(status == ResponseStatus::kIncomplete ? "response.incomplete" : "response.completed",
              events);
  events += R"(,"response":)";
  const size_t begin = events.size();
  append_response(facts_, status, blocks(), &ending, nullptr, events);
  if (keep_) keep_(std::string_view(events).substr(begin), item_ids(facts_.id, blocks()));
  end_event(events);
}

// The failed response has the output up to the failure.
void ResponsesStream::failed(const llm::Failure& failure, std::string& events) {
  begin_event("response.failed", events);
  events += R"(,"response":)";
  append_response(facts_, ResponseStatus::kFailed, blocks(), nullptr, &failure, events);
  end_event(events);
}

}  // namespace windrow::api
