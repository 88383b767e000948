#include "api/wire/ollama_stream.h"

#include <string>
#include <utility>

#include "api/wire/ollama_reply.h"

namespace windrow::api {

using Kind = AnswerBlock::Kind;

OllamaStream::OllamaStream(Dialect dialect, ChatFacts facts)
    : dialect_(dialect), facts_(std::move(facts)) {}

void OllamaStream::say_blocks(std::span<const AnswerBlock> blocks, std::string& lines) {
  append_ollama_says(dialect_, facts_, blocks, calls_said_, lines);
  lines += R"(,"done":false})";
  lines += '\n';
}

void OllamaStream::more(const AnswerBlock& block, size_t, std::string_view text,
                        std::span<const llm::ScoredToken> tokens, std::string& lines) {
  if (block.kind == Kind::kCall) return;
  const AnswerBlock said{
      .kind = block.kind, .text = std::string(text), .tokens = {tokens.begin(), tokens.end()}};
  say_blocks({&said, 1}, lines);
}

void OllamaStream::close(const AnswerBlock& block, size_t, const AnswerEnding*,
                         std::string& lines) {
  if (block.kind != Kind::kCall) return;
  say_blocks({&block, 1}, lines);
  ++calls_said_;
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
