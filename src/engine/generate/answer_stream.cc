#include "engine/generate/answer_stream.h"

#include <algorithm>

#include "base/ensure.h"
#include "base/utf8.h"

namespace windrow::engine {

AnswerStream::AnswerStream(const StreamedAnswer& answer)
    : choice_(answer.choice),
      text_begin_(answer.text_begin),
      lists_tokens_(answer.lists_tokens),
      lists_ids_(answer.lists_ids),
      prompt_tokens_(answer.prompt_tokens),
      guided_(answer.guided),
      reasoning_(answer.reasoning, answer.prompt_end),
      call_seed_(answer.call_seed),
      content_begin_(answer.content_begin),
      cut_(answer.text_before) {
  if (answer.tools && !guided_) calls_.emplace(answer.tools);
}

void AnswerStream::append_token(size_t text_bytes, std::optional<size_t> content_begin) {
  if (lists_tokens_ || lists_ids_) text_ends_.push_back(text_bytes);
  content_begin_ = content_begin;
}

// How much of the text is settled, known to be reasoning or content, and scored.
size_t AnswerStream::final_bytes(const AnswerText& text, size_t tokens_scored) const {
  if (guided_ && !content_begin_) return read_bytes_;
  size_t bytes = text.settled_bytes();
  if (lists_tokens_) {
    const size_t scored =
        std::min(tokens_scored - std::min(tokens_scored, prompt_tokens_), text_ends_.size());
    bytes = std::min(bytes, scored == 0 ? 0 : text_ends_[scored - 1]);
  }
  return std::max(bytes, read_bytes_);
}

void AnswerStream::emit_text(std::string_view bytes, bool is_content,
                             std::vector<llm::Delta>& deltas) {
  read_bytes_ += bytes.size();
  cut_ += bytes;
  const size_t whole = cut_.size() - utf8_incomplete_tail(cut_);
  const std::string_view text = std::string_view(cut_).substr(0, whole);
  if (is_content) {
    deltas.back().text += utf8_repair(text);
    held_bytes_ = 0;
  } else {
    const chat::ReasoningStream::Delta more = reasoning_.take(text);
    deltas.back().reasoning += utf8_repair(more.reasoning);
    if (!guided_) emit_content(utf8_repair(more.content), deltas);
    held_bytes_ = reasoning_.held_bytes() + (calls_ ? calls_->held_bytes() : 0);
  }
  cut_.erase(0, whole);
}

void AnswerStream::emit_content(const std::string& content, std::vector<llm::Delta>& deltas) {
  if (!calls_) {
    deltas.back().text += content;
    return;
  }
  for (chat::ToolCallStream::Delta& more : calls_->take(content)) {
    // Within a delta text comes before calls.
    if (!deltas.back().tool_calls.empty()) deltas.push_back(empty_delta());
    deltas.back().text += more.content;
    emit_calls(std::move(more.calls), deltas.back());
  }
}

void AnswerStream::emit_calls(std::vector<chat::ToolCallStream::Call> calls, llm::Delta& delta) {
  for (chat::ToolCallStream::Call& call : calls) {
    const auto index = static_cast<size_t>(call.index);
    const bool begins = index == arguments_bytes_.size();
    if (begins) arguments_bytes_.push_back(0);
    arguments_bytes_[index] += call.arguments.size();
    delta.tool_calls.push_back({.index = call.index,
                                .id = begins ? call_id(call_seed_, call.index) : "",
                                .name = std::move(call.name),
                                .arguments = std::move(call.arguments)});
  }
}

void AnswerStream::emit_tokens(std::span<const llm::ScoredToken> scored, llm::Delta& delta) {
  const size_t emitted = emitted_bytes();
  size_t end = tokens_;
  while (end < scored.size() &&
         (end < prompt_tokens_ || text_ends_.at(end - prompt_tokens_) <= emitted)) {
    ++end;
  }
  const auto news = scored.subspan(tokens_, end - tokens_);
  delta.tokens.assign(news.begin(), news.end());
  tokens_ = end;
}

void AnswerStream::emit_ids(std::span<const Token> ids, llm::Delta& delta) {
  const size_t emitted = emitted_bytes();
  size_t end = ids_;
  while (end < ids.size() && text_ends_.at(end) <= emitted)
    ++end;
  const auto news = ids.subspan(ids_, end - ids_);
  delta.token_ids.assign(news.begin(), news.end());
  ids_ = end;
}

std::vector<llm::Delta> AnswerStream::next(const AnswerText& text,
                                           std::span<const llm::ScoredToken> scored,
                                           std::span<const Token> ids) {
  std::vector<llm::Delta> deltas = {empty_delta()};
  const size_t end = final_bytes(text, scored.size());
  const std::string_view bytes = text.bytes();
  if (guided_) {
    const size_t begin = std::clamp(content_begin_.value_or(0), read_bytes_, end);
    const bool nothing_emitted = read_bytes_ == 0 && !cut_.empty();
    if (begin > read_bytes_)
      emit_text(bytes.substr(read_bytes_, begin - read_bytes_), false, deltas);
    if (end > read_bytes_ || nothing_emitted)
      emit_text(bytes.substr(read_bytes_, end - read_bytes_), true, deltas);
  } else {
    emit_text(bytes.substr(read_bytes_, end - read_bytes_), false, deltas);
  }
  // With the first delta, so that no text comes before its tokens.
  if (lists_tokens_) emit_tokens(scored, deltas.front());
  if (lists_ids_) emit_ids(ids, deltas.front());
  const llm::Delta& first = deltas.front();
  if (first.text.empty() && first.reasoning.empty() && first.tool_calls.empty() &&
      first.tokens.empty() && first.token_ids.empty()) {
    return {};
  }
  for (const llm::Delta& delta : deltas) {
    text_bytes_ += delta.text.size();
    reasoning_bytes_ += delta.reasoning.size();
  }
  return deltas;
}

llm::Delta AnswerStream::last(const llm::Choice& whole) {
  const std::string_view reasoning = whole.reasoning ? std::string_view(*whole.reasoning) : "";
  ENSURE(text_bytes_ <= whole.text.size() && reasoning_bytes_ <= reasoning.size() &&
             arguments_bytes_.size() <= whole.tool_calls.size() && tokens_ <= whole.tokens.size() &&
             ids_ <= whole.token_ids.size(),
         "more was emitted of choice {} than it has", choice_);
  llm::Delta delta{.choice = choice_,
                   .text_begin = text_begin_,
                   .text = whole.text.substr(text_bytes_),
                   .reasoning = std::string(reasoning.substr(reasoning_bytes_)),
                   .finish_reason = whole.finish_reason,
                   .cut_character = whole.cut_character,
                   .stopped_by = whole.stopped_by,
                   .stopped_by_token = whole.stopped_by_token};
  for (size_t i = 0; i < whole.tool_calls.size(); ++i) {
    const llm::ToolCall& call = whole.tool_calls[i];
    const auto index = static_cast<int32_t>(i);
    if (i >= arguments_bytes_.size()) {
      delta.tool_calls.push_back(
          {.index = index, .id = call.id, .name = call.name, .arguments = call.arguments});
      continue;
    }
    ENSURE(arguments_bytes_[i] <= call.arguments.size(), "more was emitted of call {} than it has",
           i);
    if (arguments_bytes_[i] == call.arguments.size()) continue;
    delta.tool_calls.push_back({.index = index,
                                .id = {},
                                .name = {},
                                .arguments = call.arguments.substr(arguments_bytes_[i])});
  }
  delta.tokens.assign(whole.tokens.begin() + static_cast<ptrdiff_t>(tokens_), whole.tokens.end());
  delta.token_ids.assign(whole.token_ids.begin() + static_cast<ptrdiff_t>(ids_),
                         whole.token_ids.end());
  return delta;
}

}  // namespace windrow::engine
