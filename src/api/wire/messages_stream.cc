#include "api/wire/messages_stream.h"

#include <algorithm>
#include <utility>

#include "api/wire/error_reply.h"
#include "api/wire/messages_reply.h"
#include "json/writer.h"

namespace windrow::api {

using Kind = AnswerBlock::Kind;

namespace {

struct DeltaNames {
  std::string_view type;
  std::string_view member;
};

DeltaNames messages_delta(Kind kind) {
  switch (kind) {
    case Kind::kThoughts:
      return {"thinking_delta", "thinking"};
    case Kind::kCall:
      return {"input_json_delta", "partial_json"};
    case Kind::kText:
    case Kind::kRefusal:
      break;
  }
  return {"text_delta", "text"};
}

// Up to its members; closed with "}\n\n".
void begin_event(std::string_view type, std::string& events) {
  append_format(events, "event: {}\ndata: {{\"type\":\"{}\"", type, type);
}

}  // namespace

MessagesStream::MessagesStream(ChatFacts facts) : facts_(std::move(facts)) {}

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
