#include "api/wire/responses_stream.h"

#include <utility>

#include "api/wire/responses_reply.h"
#include "json/writer.h"
#include "llm/logprobs_json.h"

namespace windrow::api {

using Kind = AnswerBlock::Kind;

namespace {

// Of the events that say a block's text: "response.output_text" + ".delta".
std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kThoughts:
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

// The member that has the whole text in the event at its end.
std::string_view member_of(Kind kind) {
  if (kind == Kind::kCall) return "arguments";
  return kind == Kind::kRefusal ? "refusal" : "text";
}

bool has_parts(Kind kind) {
  return kind != Kind::kCall;
}

}  // namespace

ResponsesStream::ResponsesStream(ChatFacts facts, KeepResponse keep)
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

// What was said stays said, as far as it came.
void ResponsesStream::failed(const llm::Failure& failure, std::string& events) {
  begin_event("response.failed", events);
  events += R"(,"response":)";
  append_response(facts_, ResponseStatus::kFailed, blocks(), nullptr, &failure, events);
  end_event(events);
}

}  // namespace windrow::api
