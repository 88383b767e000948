#include "engine/answer_stream.h"

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
      speech_begin_(answer.speech_begin),
      cut_(answer.text_before) {}

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

void AnswerStream::tell_text(std::string_view bytes, bool said, llm::Piece& piece) {
  taken_bytes_ += bytes.size();
  cut_ += bytes;
  const size_t whole = cut_.size() - utf8_incomplete_tail(cut_);
  const std::string_view text = std::string_view(cut_).substr(0, whole);
  if (said) {
    piece.text += utf8_repair(text);
    held_bytes_ = 0;
  } else {
    const chat::ReasoningStream::More more = thoughts_.take(text);
    piece.reasoning += utf8_repair(more.reasoning);
    if (!guided_) piece.text += utf8_repair(more.content);
    held_bytes_ = thoughts_.held_bytes();
  }
  cut_.erase(0, whole);
}

void AnswerStream::tell_tokens(std::span<const llm::ScoredToken> scored, llm::Piece& piece) {
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

std::optional<llm::Piece> AnswerStream::next(const AnswerText& text,
                                             std::span<const llm::ScoredToken> scored) {
  llm::Piece piece{.choice = choice_, .text_begin = text_begin_};
  const size_t end = tellable_bytes(text, scored.size());
  const std::string_view bytes = text.bytes();
  if (guided_) {
    const size_t begin = std::clamp(speech_begin_.value_or(0), taken_bytes_, end);
    const bool nothing_told = taken_bytes_ == 0 && !cut_.empty();
    if (begin > taken_bytes_)
      tell_text(bytes.substr(taken_bytes_, begin - taken_bytes_), false, piece);
    if (end > taken_bytes_ || nothing_told)
      tell_text(bytes.substr(taken_bytes_, end - taken_bytes_), true, piece);
  } else {
    tell_text(bytes.substr(taken_bytes_, end - taken_bytes_), false, piece);
  }
  if (lists_tokens_) tell_tokens(scored, piece);
  if (piece.text.empty() && piece.reasoning.empty() && piece.tokens.empty()) return std::nullopt;
  text_told_ += piece.text.size();
  reasoning_told_ += piece.reasoning.size();
  return piece;
}

llm::Piece AnswerStream::last(const llm::Choice& whole) {
  const std::string_view reasoning = whole.reasoning ? std::string_view(*whole.reasoning) : "";
  ENSURE(text_told_ <= whole.text.size() && reasoning_told_ <= reasoning.size() &&
             tokens_told_ <= whole.tokens.size(),
         "more was told of choice {} than there is", choice_);
  llm::Piece piece{.choice = choice_,
                   .text_begin = text_begin_,
                   .text = whole.text.substr(text_told_),
                   .reasoning = std::string(reasoning.substr(reasoning_told_)),
                   .finish_reason = whole.finish_reason};
  piece.tokens.assign(whole.tokens.begin() + static_cast<ptrdiff_t>(tokens_told_),
                      whole.tokens.end());
  return piece;
}

}  // namespace windrow::engine
