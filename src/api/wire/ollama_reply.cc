#include "api/wire/ollama_reply.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/messages_reply.h"
#include "json/writer.h"
#include "llm/answer_json.h"

namespace windrow::api {

namespace json = boost::json;

using Kind = AnswerBlock::Kind;

namespace {

constexpr int64_t kNsOfMs = 1'000'000;

struct Durations {
  int64_t total_ns = 0;
  int64_t prompt_ns = 0;
  int64_t answer_ns = 0;
};

Durations durations_of(const ReplyFacts& facts, const llm::Timings& timings) {
  Durations durations{.prompt_ns = timings.prefill_ms * kNsOfMs,
                      .answer_ns = timings.decode_ms * kNsOfMs};
  durations.total_ns = durations.prompt_ns + durations.answer_ns;
  if (facts.clock != nullptr) durations.total_ns = (facts.clock->now() - facts.arrived_at).count();
  if (timings.prefill_ms == 0 && timings.decode_ms == 0) durations.answer_ns = durations.total_ns;
  return durations;
}

void append_ollama_head(std::string_view model, int64_t created_unix_s, std::string& text) {
  text += R"({"model":)";
  append_json(model, text);
  append_format(text, R"(,"created_at":"{}")", utc_stamp(created_unix_s));
}

// The joined texts of all blocks of a kind.
std::string text_of_kind(std::span<const AnswerBlock> blocks, Kind kind) {
  std::string text;
  for (const AnswerBlock& block : blocks) {
    if (block.kind == kind) text += block.text;
  }
  return text;
}

// A truncated call has no valid arguments.
void append_calls(const ReplyFacts& facts, std::span<const AnswerBlock> blocks, size_t index,
                  std::string& text) {
  std::vector<const AnswerBlock*> calls;
  for (const AnswerBlock& block : blocks) {
    if (block.kind == Kind::kCall) calls.push_back(&block);
  }
  if (calls.empty()) return;
  text += R"(,"tool_calls":)";
  append_json_array(text, calls, [&](const AnswerBlock* call) {
    text += R"({"id":)";
    append_json(call_id(call->call_id, facts.id, index), text);
    append_format(text, R"(,"function":{{"index":{},"name":)", index++);
    append_json(call->call_name, text);
    text += R"(,"arguments":)";
    append_call_input(call->text, text);
    text += "}}";
  });
}

void append_vector(const std::vector<float>& vector, std::string& text) {
  append_json_array(text, vector, [&](float one) { append_json(one, text); });
}

std::string embed_reply(const ReplyFacts& facts, const llm::Answer& answer) {
  const Durations durations = durations_of(facts, answer.timings);
  std::string text = R"({"model":)";
  append_json(facts.model, text);
  text += R"(,"embeddings":)";
  append_json_array(text, answer.embeddings,
                    [&](const std::vector<float>& vector) { append_vector(vector, text); });
  append_format(text, R"(,"total_duration":{},"load_duration":0,"prompt_eval_count":{}}})",
                durations.total_ns, answer.usage.prompt_tokens);
  return text;
}

}  // namespace

std::string utc_stamp(int64_t unix_s) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

std::string ollama_reply(Dialect dialect, const ReplyFacts& facts, const llm::Answer& answer) {
  if (dialect == Dialect::kOllamaEmbed) return embed_reply(facts, answer);
  std::string text;
  if (dialect == Dialect::kOllamaEmbeddings) {
    text = R"({"embedding":)";
    append_vector(answer.embeddings.empty() ? std::vector<float>() : answer.embeddings.front(),
                  text);
    return text + '}';
  }
  std::vector<AnswerBlock> blocks;
  if (!answer.choices.empty()) blocks = blocks_of(answer.choices.front());
  append_ollama_says(dialect, facts, blocks, 0, text);
  append_ollama_end(facts, ending_of(answer), text);
  return text;
}

std::string ollama_order_reply(Dialect dialect, std::string_view model, int64_t created_unix_s,
                               ModelAction action) {
  std::string text;
  append_ollama_head(model, created_unix_s, text);
  text += dialect == Dialect::kOllamaGenerate ? R"(,"response":"")"
                                              : R"(,"message":{"role":"assistant","content":""})";
  append_format(text, R"(,"done":true,"done_reason":"{}"}})",
                action == ModelAction::kUnload ? "unload" : "load");
  return text;
}

std::string ollama_error(const llm::Failure& failure) {
  return json::serialize(json::object{{"error", failure.message}});
}

void append_ollama_says(Dialect dialect, const ReplyFacts& facts,
                        std::span<const AnswerBlock> blocks, size_t calls_before,
                        std::string& text) {
  append_ollama_head(facts.model, facts.created_unix_s, text);
  const bool chat = dialect == Dialect::kOllamaChat;
  text += chat ? R"(,"message":{"role":"assistant","content":)" : R"(,"response":)";
  append_json(text_of_kind(blocks, Kind::kText) + text_of_kind(blocks, Kind::kRefusal), text);
  if (const std::string thoughts = text_of_kind(blocks, Kind::kReasoning); !thoughts.empty()) {
    text += R"(,"thinking":)";
    append_json(thoughts, text);
  }
  if (chat) {
    append_calls(facts, blocks, calls_before, text);
    text += '}';
  }
  if (!facts.logprobs) return;
  for (const AnswerBlock& block : blocks) {
    if (block.kind != Kind::kText || block.tokens.empty()) continue;
    text += R"(,"logprobs":)";
    llm::append_token_logprobs(block.tokens, text);
  }
}

void append_ollama_end(const ReplyFacts& facts, const AnswerEnding& ending, std::string& text) {
  const Durations durations = durations_of(facts, ending.timings);
  append_format(
      text,
      R"(,"done":true,"done_reason":"{}","total_duration":{},"load_duration":0,)"
      R"("prompt_eval_count":{},"prompt_eval_duration":{},"eval_count":{},"eval_duration":{})",
      ending.reason == llm::FinishReason::kLength ? "length" : "stop", durations.total_ns,
      ending.usage.prompt_tokens, durations.prompt_ns, ending.usage.completion_tokens,
      durations.answer_ns);
  if (ending.structure)
    append_format(text, R"(,"structure":"{}")", llm::to_string(*ending.structure));
  text += '}';
}

using Kind = AnswerBlock::Kind;

OllamaStream::OllamaStream(Dialect dialect, ReplyFacts facts)
    : dialect_(dialect), facts_(std::move(facts)) {}

void OllamaStream::emit_blocks(std::span<const AnswerBlock> blocks, std::string& lines) {
  append_ollama_says(dialect_, facts_, blocks, calls_emitted_, lines);
  lines += R"(,"done":false})";
  lines += '\n';
}

void OllamaStream::more(const AnswerBlock& block, size_t, std::string_view text,
                        std::span<const llm::ScoredToken> tokens, std::string& lines) {
  if (block.kind == Kind::kCall) return;
  const AnswerBlock emitted{
      .kind = block.kind, .text = std::string(text), .tokens = {tokens.begin(), tokens.end()}};
  emit_blocks({&emitted, 1}, lines);
}

void OllamaStream::close(const AnswerBlock& block, size_t, const AnswerEnding*,
                         std::string& lines) {
  if (block.kind != Kind::kCall) return;
  emit_blocks({&block, 1}, lines);
  ++calls_emitted_;
}

void OllamaStream::finish(const AnswerEnding& ending, std::string& lines) {
  append_ollama_says(dialect_, facts_, {}, 0, lines);
  append_ollama_end(facts_, ending, lines);
  lines += '\n';
}

void OllamaStream::failed(const llm::Failure& failure, std::string& lines) {
  lines += ollama_error(failure);
  lines += '\n';
}

}  // namespace windrow::api
