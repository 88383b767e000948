// AnswerStream: the answer of one row as pieces for a listener, while it is made. Pure.
//
// Invariant: the pieces joined are the choice (llm/stream_sink.h). What is told can no more change:
// it is whole characters, behind which no stop text has begun, of which it is known whether they
// are thought, said or a call of a tool. A token that is listed comes with the last of the text it
// made, and no text comes before its tokens: what a structure forced waits for its scores.
#pragma once

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
#include "llm/stream_sink.h"

namespace windrow::engine {

struct StreamedAnswer {
  int32_t choice = 0;            // Delta::choice
  int32_t text_begin = 0;        // Delta::text_begin
  std::string_view text_before;  // Choice::text begins with it
  bool lists_tokens = false;     // in Choice::tokens,
  size_t prompt_tokens = 0;      // so many of the prompt's first

  // How thoughts are marked. `guided`: where they end is known otherwise (token_said).
  chat::ReasoningFormat reasoning;
  std::string_view prompt_end;
  bool guided = false;
  std::optional<size_t> speech_begin;  // as for token_said, before the first

  // Calls of these are looked for in what is said, unless `guided`; none: they are text.
  std::shared_ptr<const chat::ToolContext> tools;
  uint64_t call_seed = 0;  // of their ids
};

class AnswerStream {
 public:
  explicit AnswerStream(const StreamedAnswer& answer);

  // The answer has one more token: its text now has so many bytes; of a guided answer so many of
  // them come before what is said, or nothing is known yet.
  void token_said(size_t text_bytes, std::optional<size_t> speech_begin);

  // What there is to tell since the last piece, if anything; several where something is said behind
  // a call. `text` is the answer's and `scored` are the tokens listed, so far.
  std::vector<llm::Delta> next(const AnswerText& text, std::span<const llm::ScoredToken> scored);

  // All the rest.
  llm::Delta last(const llm::Choice& whole);

 private:
  size_t tellable_bytes(const AnswerText& text, size_t tokens_scored) const;
  llm::Delta piece() const { return {.choice = choice_, .text_begin = text_begin_}; }
  void tell_text(std::string_view bytes, bool said, std::vector<llm::Delta>& pieces);
  void tell_content(const std::string& content, std::vector<llm::Delta>& pieces);
  void tell_calls(std::vector<chat::ToolCallStream::Call> calls, llm::Delta& piece);
  void tell_tokens(std::span<const llm::ScoredToken> scored, llm::Delta& piece);

  const int32_t choice_;
  const int32_t text_begin_;
  const bool lists_tokens_;
  const size_t prompt_tokens_;
  const bool guided_;
  chat::ReasoningStream thoughts_;
  std::optional<chat::ToolCallStream> calls_;
  const uint64_t call_seed_;

  std::vector<size_t> text_ends_;       // behind each token, where they are listed
  std::optional<size_t> speech_begin_;  // of a guided answer

  // Of the answer's text so much was taken; of that the last bytes are kept because they are the
  // beginning of a character, or of what the thoughts hold. What stands before the answer is in
  // `cut_` until the first piece.
  size_t taken_bytes_ = 0;
  std::string cut_;
  size_t held_bytes_ = 0;

  size_t text_told_ = 0;
  size_t reasoning_told_ = 0;
  std::vector<size_t> arguments_told_;  // of each call
  size_t tokens_told_ = 0;
};

}  // namespace windrow::engine
