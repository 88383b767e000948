#include "api/wire/messages_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <utility>
#include <vector>

#include "api/wire/error_reply.h"
#include "json/limits.h"
#include "json/members.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

using Kind = AnswerBlock::Kind;

namespace {

void append_head(const ReplyFacts& facts, std::string& text) {
  append_format(text, R"({{"id":"msg_{}","type":"message","role":"assistant","model":)", facts.id);
  append_json(facts.model, text);
  text += R"(,"content":)";
}

}  // namespace

void append_call_input(std::string_view arguments, std::string& text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(arguments.data(), arguments.size()),
                                        error, {}, {.max_depth = kJsonDepthMax});
  if (!error && value.is_object()) {
    text += json_without_space(arguments);
  } else if (arguments.empty()) {
    text += "{}";
  } else {
    text += R"({"unparsed_arguments":)";
    append_json(arguments, text);
    text += '}';
  }
}

namespace {

std::string_view tier_of(std::string_view service_tier) {
  if (service_tier == "flex") return "batch";
  return service_tier == "priority" ? "priority" : "standard";
}

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 408:
    case 504:
      return "timeout_error";
    case 529:
      return "overloaded_error";
    default:
      break;
  }
  return status >= 500 ? "api_error" : "invalid_request_error";
}

// Anthropic's clients recognise a prompt that is too long by this text.
std::string failure_text(const llm::Failure& failure) {
  constexpr std::string_view kTooLong = "prompt is too long";
  const bool known = failure.message.find(kTooLong) != std::string::npos;
  if (failure.code != "context_length_exceeded" || known) return failure.message;
  if (!failure.prompt_excess) return fmt::format("{}: {}", kTooLong, failure.message);
  return fmt::format("{}: {} tokens > {} maximum; {}", kTooLong, failure.prompt_excess->tokens,
                     failure.prompt_excess->tokens_max, failure.message);
}

}  // namespace

std::string message_of(const ReplyFacts& facts, const llm::Answer& answer) {
  std::vector<AnswerBlock> blocks;
  if (!answer.choices.empty()) blocks = blocks_of(answer.choices.front());
  const AnswerEnding ending = ending_of(answer);
  const bool refused = std::ranges::any_of(
      blocks, [](const AnswerBlock& block) { return block.kind == Kind::kRefusal; });
  std::string text;
  append_head(facts, text);
  size_t index = 0;
  append_json_array(text, blocks, [&](const AnswerBlock& block) {
    append_content_block(facts, block, index++, false, text);
  });
  text += ',';
  append_stop(ending, refused, text);
  text += R"(,"usage":)";
  append_message_usage(facts, ending.usage, text);
  text += '}';
  return text;
}

std::string message_error(int status, const llm::Failure& failure, std::string_view request_id) {
  std::string text;
  append_format(text, R"({{"type":"error","error":{{"type":"{}","message":)", error_type(status));
  append_json(failure_text(failure), text);
  // Clients that asked for a thread then send the whole conversation.
  if (failure.param == "thread" && failure.code == "unsupported_parameter")
    text += R"(,"details":{"error_code":"thread_unsupported_request"})";
  text += '}';
  if (!request_id.empty()) {
    text += R"(,"request_id":)";
    append_json(request_id, text);
  }
  text += '}';
  return text;
}

std::string token_count_of(int64_t tokens) {
  std::string text;
  append_format(text, R"({{"input_tokens":{}}})", tokens);
  return text;
}

void append_message_start(const ReplyFacts& facts, std::string& text) {
  append_head(facts, text);
  text += R"([],"stop_reason":null,"stop_sequence":null,"usage":)";
  append_message_usage(facts, {}, text);
  text += '}';
}

void append_stop(const AnswerEnding& ending, bool refused, std::string& text) {
  std::string_view reason = ending.stopped_by ? "stop_sequence" : "end_turn";
  if (ending.reason == llm::FinishReason::kLength) reason = "max_tokens";
  if (ending.reason == llm::FinishReason::kToolCalls) reason = "tool_use";
  if (ending.reason == llm::FinishReason::kFiltered || refused) reason = "refusal";
  append_format(text, R"("stop_reason":"{}","stop_sequence":)", reason);
  if (ending.stopped_by && reason == "stop_sequence") {
    append_json(*ending.stopped_by, text);
  } else {
    text += "null";
  }
  if (ending.structure)
    append_format(text, R"(,"structure":"{}")", llm::to_string(*ending.structure));
  if (ending.cut_character) text += R"(,"cut_character":true)";
  llm::append_structure_warnings(ending.structure_warnings, text);
}

void append_message_usage(const ReplyFacts& facts, const llm::Usage& usage, std::string& text) {
  append_format(
      text,
      R"({{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},)"
      R"("output_tokens":{},"service_tier":"{}"}})",
      std::max(usage.prompt_tokens - usage.cached_tokens, 0), usage.cached_tokens,
      usage.completion_tokens, tier_of(facts.service_tier));
}

void append_content_block(const ReplyFacts& facts, const AnswerBlock& block, size_t index,
                          bool begins, std::string& text) {
  const std::string_view emitted = begins ? std::string_view() : std::string_view(block.text);
  switch (block.kind) {
    case Kind::kReasoning:
      text += R"({"type":"thinking","thinking":)";
      append_json(emitted, text);
      text += R"(,"signature":""})";
      return;
    case Kind::kText:
    case Kind::kRefusal:
      text += R"({"type":"text","text":)";
      append_json(emitted, text);
      text += '}';
      return;
    case Kind::kCall:
      break;
  }
  text += R"({"type":"tool_use","id":)";
  append_json(call_id(block.call_id, facts.id, index), text);
  text += R"(,"name":)";
  append_json(block.call_name, text);
  text += R"(,"input":)";
  append_call_input(emitted, text);
  text += '}';
}

using Kind = AnswerBlock::Kind;

namespace {

struct DeltaNames {
  std::string_view type;
  std::string_view member;
};

DeltaNames messages_delta(Kind kind) {
  switch (kind) {
    case Kind::kReasoning:
      return {"thinking_delta", "thinking"};
    case Kind::kCall:
      return {"input_json_delta", "partial_json"};
    case Kind::kText:
    case Kind::kRefusal:
      break;
  }
  return {"text_delta", "text"};
}

// Begins an event, up to its members; the caller closes it with "}\n\n".
void begin_event(std::string_view type, std::string& events) {
  append_format(events, "event: {}\ndata: {{\"type\":\"{}\"", type, type);
}

}  // namespace

MessagesStream::MessagesStream(ReplyFacts facts) : facts_(std::move(facts)) {}

void MessagesStream::keep_alive(std::string& events) {
  begin_event("ping", events);
  events += "}\n\n";
}

void MessagesStream::begin(std::string& events) {
  begin_event("message_start", events);
  events += R"(,"message":)";
  append_message_start(facts_, events);
  events += "}\n\n";
}

void MessagesStream::open(const AnswerBlock& block, size_t index, std::string& events) {
  begin_event("content_block_start", events);
  append_format(events, R"(,"index":{},"content_block":)", index);
  append_content_block(facts_, block, index, true, events);
  events += "}\n\n";
}

void MessagesStream::more(const AnswerBlock& block, size_t index, std::string_view text,
                          std::span<const llm::ScoredToken>, std::string& events) {
  const DeltaNames names = messages_delta(block.kind);
  begin_event("content_block_delta", events);
  append_format(events, R"(,"index":{},"delta":{{"type":"{}","{}":)", index, names.type,
                names.member);
  append_json(text, events);
  events += "}}\n\n";
}

void MessagesStream::close(const AnswerBlock&, size_t index, const AnswerEnding*,
                           std::string& events) {
  begin_event("content_block_stop", events);
  append_format(events, R"(,"index":{}}})", index);
  events += "\n\n";
}

void MessagesStream::finish(const AnswerEnding& ending, std::string& events) {
  const bool refused = std::ranges::any_of(
      blocks(), [](const AnswerBlock& block) { return block.kind == Kind::kRefusal; });
  begin_event("message_delta", events);
  events += R"(,"delta":{)";
  append_stop(ending, refused, events);
  events += R"(},"usage":)";
  append_message_usage(facts_, ending.usage, events);
  events += "}\n\n";
  begin_event("message_stop", events);
  events += "}\n\n";
}

void MessagesStream::failed(const llm::Failure& failure, std::string& events) {
  events += "event: error\ndata: ";
  events += error_body(failure, Dialect::kMessages, facts_.request_id);
  events += "\n\n";
}

}  // namespace windrow::api
