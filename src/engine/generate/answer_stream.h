// AnswerStream: the answer of one row as deltas for a listener, while it is generated. Pure; used
// by one thread at a time.
//
// Invariants:
//  * The deltas joined are the choice (llm/stream_sink.h).
//  * What was emitted can no longer change: it is whole characters, no stop text can begin in it,
//    and it is known whether it is reasoning, content or a tool call.
//  * A listed token comes with the last of the text that it made, and no text comes before its
//    tokens: text that a structure forced waits for its scores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning.h"
#include "engine/generate/answer_text.h"
#include "engine/host/types.h"
#include "llm/stream_sink.h"

namespace windrow::engine {

struct StreamedAnswer {
  int32_t choice = 0;            // Delta::choice
  int32_t text_begin = 0;        // Delta::text_begin
  std::string_view text_before;  // Choice::text begins with it
  bool lists_tokens = false;     // Choice::tokens has its tokens
  bool lists_ids = false;        // Choice::token_ids has their ids
  size_t prompt_tokens = 0;      // how many of Choice::tokens are of the prompt

  // How reasoning is marked. `guided`: where it ends is told by append_token instead.
  chat::ReasoningFormat reasoning;
  std::string_view prompt_end;
  bool guided = false;
  std::optional<size_t> content_begin;  // as for append_token, before the first token

  // The tools whose calls are looked for in the content, unless `guided`; null: calls are text.
  std::shared_ptr<const chat::ToolContext> tools;
  uint64_t call_seed = 0;  // for call_id
};

class AnswerStream {
 public:
  explicit AnswerStream(const StreamedAnswer& answer);

  // The answer has one more token; its text now has `text_bytes` bytes. Of a guided answer the
  // content begins at byte `content_begin` (nothing: not known yet).
  void append_token(size_t text_bytes, std::optional<size_t> content_begin);

  // What is new and final since the last call: no delta when there is nothing, several where text
  // follows a call. `text` is the answer's, `scored` are the tokens listed and `ids` those of the
  // answer, so far.
  std::vector<llm::Delta> next(const AnswerText& text, std::span<const llm::ScoredToken> scored,
                               std::span<const Token> ids = {});

  // All that is left of the whole choice, with its finish reason. To be called once.
  llm::Delta last(const llm::Choice& whole);

 private:
  size_t final_bytes(const AnswerText& text, size_t tokens_scored) const;
  llm::Delta empty_delta() const { return {.choice = choice_, .text_begin = text_begin_}; }
  void emit_text(std::string_view bytes, bool is_content, std::vector<llm::Delta>& deltas);
  void emit_content(const std::string& content, std::vector<llm::Delta>& deltas);
  void emit_calls(std::vector<chat::ToolCallStream::Call> calls, llm::Delta& delta);
  void emit_tokens(std::span<const llm::ScoredToken> scored, llm::Delta& delta);
  void emit_ids(std::span<const Token> ids, llm::Delta& delta);
  size_t emitted_bytes() const {
    return read_bytes_ - std::min(read_bytes_, cut_.size() + held_bytes_);
  }

  const int32_t choice_;
  const int32_t text_begin_;
  const bool lists_tokens_;
  const bool lists_ids_;
  const size_t prompt_tokens_;
  const bool guided_;
  chat::ReasoningStream reasoning_;
  std::optional<chat::ToolCallStream> calls_;
  const uint64_t call_seed_;

  std::vector<size_t> text_ends_;        // where the text of each token of the answer ends
  std::optional<size_t> content_begin_;  // of a guided answer

  // How much of the answer's text was read. Of that the last bytes are not emitted yet: `cut_` is
  // the beginning of a character (before the first delta it begins with text_before), and so many
  // bytes before it are held by the streams of reasoning and calls.
  size_t read_bytes_ = 0;
  std::string cut_;
  size_t held_bytes_ = 0;

  // What was emitted.
  size_t text_bytes_ = 0;
  size_t reasoning_bytes_ = 0;
  std::vector<size_t> arguments_bytes_;  // of each call
  size_t tokens_ = 0;
  size_t ids_ = 0;
};

}  // namespace windrow::engine
