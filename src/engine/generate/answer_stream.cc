#include "engine/generate/answer_stream.h"

#include <algorithm>

#include "base/ensure.h"
#include "base/utf8.h"

namespace windrow::engine {

AnswerStream::AnswerStream(const StreamedAnswer& answer)
    : choice_(answer.choice),
      text_begin_(answer.text_begin),
      lists_tokens_(answer.lists_tokens),
      prompt_tokens_(answer.prompt_tokens),
      guided_(answer.guided),
      thoughts_(answer.reasoning, answer.prompt_end),
      call_seed_(answer.call_seed),
      speech_begin_(answer.speech_begin),
      cut_(answer.text_before) {
  if (answer.tools && !guided_) calls_.emplace(answer.tools);
}

void AnswerStream::token_said(size_t text_bytes, std::optional<size_t> speech_begin) {
  if (lists_tokens_) text_ends_.push_back(text_bytes);
  speech_begin_ = speech_begin;
}

// Of the answer's text: what is settled, known to be said or thought, and scored.
size_t AnswerStream::tellable_bytes(const AnswerText& text, size_t tokens_scored) const {
  if (guided_ && !speech_begin_) return taken_bytes_;
  size_t bytes = text.settled_bytes();
  if (lists_tokens_) {
    const size_t scored =
        std::min(tokens_scored - std::min(tokens_scored, prompt_tokens_), text_ends_.size());
    bytes = std::min(bytes, scored == 0 ? 0 : text_ends_[scored - 1]);
  }
  return std::max(bytes, taken_bytes_);
}

void AnswerStream::tell_text(std::string_view bytes, bool said, std::vector<llm::Delta>& pieces) {
  taken_bytes_ += bytes.size();
  cut_ += bytes;
  const size_t whole = cut_.size() - utf8_incomplete_tail(cut_);
  const std::string_view text = std::string_view(cut_).substr(0, whole);
  if (said) {
    pieces.back().text += utf8_repair(text);
    held_bytes_ = 0;
  } else {
    const chat::ReasoningStream::Delta more = thoughts_.take(text);
    pieces.back().reasoning += utf8_repair(more.reasoning);
    if (!guided_) tell_content(utf8_repair(more.content), pieces);
    held_bytes_ = thoughts_.held_bytes() + (calls_ ? calls_->held_bytes() : 0);
  }
  cut_.erase(0, whole);
}

void AnswerStream::tell_content(const std::string& content, std::vector<llm::Delta>& pieces) {
  if (!calls_) {
    pieces.back().text += content;
    return;
  }
  for (chat::ToolCallStream::Delta& more : calls_->take(content)) {
    // Of one piece texts come before calls.
    if (!pieces.back().tool_calls.empty()) pieces.push_back(piece());
    pieces.back().text += more.content;
    tell_calls(std::move(more.calls), pieces.back());
  }
}

void AnswerStream::tell_calls(std::vector<chat::ToolCallStream::Call> calls, llm::Delta& piece) {
  for (chat::ToolCallStream::Call& call : calls) {
    const auto index = static_cast<size_t>(call.index);
    const bool begins = index == arguments_told_.size();
    if (begins) arguments_told_.push_back(0);
    arguments_told_[index] += call.arguments.size();
    piece.tool_calls.push_back({.index = call.index,
                                .id = begins ? call_id(call_seed_, call.index) : "",
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
}

void AnswerStream::tell_tokens(std::span<const llm::ScoredToken> scored, llm::Delta& piece) {
  const size_t told = taken_bytes_ - std::min(taken_bytes_, cut_.size() + held_bytes_);
  size_t end = tokens_told_;
  while (end < scored.size() &&
         (end < prompt_tokens_ || text_ends_.at(end - prompt_tokens_) <= told)) {
    ++end;
  }
  const auto news = scored.subspan(tokens_told_, end - tokens_told_);
  piece.tokens.assign(news.begin(), news.end());
  tokens_told_ = end;
}

std::vector<llm::Delta> AnswerStream::next(const AnswerText& text,
                                           std::span<const llm::ScoredToken> scored) {
  std::vector<llm::Delta> pieces = {piece()};
  const size_t end = tellable_bytes(text, scored.size());
  const std::string_view bytes = text.bytes();
  if (guided_) {
    const size_t begin = std::clamp(speech_begin_.value_or(0), taken_bytes_, end);
    const bool nothing_told = taken_bytes_ == 0 && !cut_.empty();
    if (begin > taken_bytes_)
      tell_text(bytes.substr(taken_bytes_, begin - taken_bytes_), false, pieces);
    if (end > taken_bytes_ || nothing_told)
      tell_text(bytes.substr(taken_bytes_, end - taken_bytes_), true, pieces);
  } else {
    tell_text(bytes.substr(taken_bytes_, end - taken_bytes_), false, pieces);
  }
  // With the first, so that no text comes before its tokens.
  if (lists_tokens_) tell_tokens(scored, pieces.front());
  const llm::Delta& first = pieces.front();
  if (first.text.empty() && first.reasoning.empty() && first.tool_calls.empty() &&
      first.tokens.empty()) {
    return {};
  }
  for (const llm::Delta& piece : pieces) {
    text_told_ += piece.text.size();
    reasoning_told_ += piece.reasoning.size();
  }
  return pieces;
}

llm::Delta AnswerStream::last(const llm::Choice& whole) {
  const std::string_view reasoning = whole.reasoning ? std::string_view(*whole.reasoning) : "";
  ENSURE(text_told_ <= whole.text.size() && reasoning_told_ <= reasoning.size() &&
             arguments_told_.size() <= whole.tool_calls.size() &&
             tokens_told_ <= whole.tokens.size(),
         "more was told of choice {} than there is", choice_);
  llm::Delta piece{.choice = choice_,
                   .text_begin = text_begin_,
                   .text = whole.text.substr(text_told_),
                   .reasoning = std::string(reasoning.substr(reasoning_told_)),
                   .finish_reason = whole.finish_reason,
                   .cut_character = whole.cut_character,
                   .stopped_by = whole.stopped_by};
  for (size_t i = 0; i < whole.tool_calls.size(); ++i) {
    const llm::ToolCall& call = whole.tool_calls[i];
    const auto index = static_cast<int32_t>(i);
    if (i >= arguments_told_.size()) {
      piece.tool_calls.push_back(
          {.index = index, .id = call.id, .name = call.name, .arguments = call.arguments});
      continue;
    }
    ENSURE(arguments_told_[i] <= call.arguments.size(), "more was told of call {} than there is",
           i);
    if (arguments_told_[i] == call.arguments.size()) continue;
    piece.tool_calls.push_back({.index = index,
                                .id = {},
                                .name = {},
                                .arguments = call.arguments.substr(arguments_told_[i])});
  }
  piece.tokens.assign(whole.tokens.begin() + static_cast<ptrdiff_t>(tokens_told_),
                      whole.tokens.end());
  return piece;
}

}  // namespace windrow::engine
