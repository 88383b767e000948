#include "api/wire/messages_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <vector>

#include "json/depth.h"
#include "json/members.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

using Kind = AnswerBlock::Kind;

namespace {

void append_head(const ChatFacts& facts, std::string& text) {
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

// A prompt that is too long is said in the words by which Anthropic's clients know it.
std::string failure_text(const llm::Failure& failure) {
  constexpr std::string_view kTooLong = "prompt is too long";
  const bool known = failure.message.find(kTooLong) != std::string::npos;
  if (failure.code != "context_length_exceeded" || known) return failure.message;
  if (!failure.prompt_excess) return fmt::format("{}: {}", kTooLong, failure.message);
  return fmt::format("{}: {} tokens > {} maximum; {}", kTooLong, failure.prompt_excess->tokens,
                     failure.prompt_excess->tokens_max, failure.message);
}

}  // namespace

std::string message_of(const ChatFacts& facts, const llm::Answer& answer) {
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
  // Who wants a thread and hears this sends the whole conversation instead.
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

void append_message_start(const ChatFacts& facts, std::string& text) {
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

void append_message_usage(const ChatFacts& facts, const llm::Usage& usage, std::string& text) {
  append_format(
      text,
      R"({{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},)"
      R"("output_tokens":{},"service_tier":"{}"}})",
      std::max(usage.prompt_tokens - usage.cached_tokens, 0), usage.cached_tokens,
      usage.completion_tokens, tier_of(facts.service_tier));
}

void append_content_block(const ChatFacts& facts, const AnswerBlock& block, size_t index,
                          bool begins, std::string& text) {
  const std::string_view said = begins ? std::string_view() : std::string_view(block.text);
  switch (block.kind) {
    case Kind::kThoughts:
      text += R"({"type":"thinking","thinking":)";
      append_json(said, text);
      text += R"(,"signature":""})";
      return;
    case Kind::kText:
    case Kind::kRefusal:
      text += R"({"type":"text","text":)";
      append_json(said, text);
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
  append_call_input(said, text);
  text += '}';
}

}  // namespace windrow::api
