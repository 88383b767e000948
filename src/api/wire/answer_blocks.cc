#include "api/wire/answer_blocks.h"

#include <fmt/format.h>

#include <utility>

#include "llm/raw_body.h"

namespace windrow::api {

using Kind = AnswerBlock::Kind;

std::vector<AnswerBlock> blocks_of(const llm::Choice& choice) {
  std::vector<AnswerBlock> blocks;
  if (choice.reasoning && !choice.reasoning->empty())
    blocks.push_back({.kind = Kind::kReasoning, .text = *choice.reasoning});
  if (!choice.text.empty())
    blocks.push_back({.kind = Kind::kText, .text = choice.text, .tokens = choice.tokens});
  if (choice.refusal && !choice.refusal->empty())
    blocks.push_back({.kind = Kind::kRefusal, .text = *choice.refusal});
  for (const llm::ToolCall& call : choice.tool_calls) {
    blocks.push_back(
        {.kind = Kind::kCall, .text = call.arguments, .call_id = call.id, .call_name = call.name});
  }
  return blocks;
}

AnswerEnding ending_of(const llm::Answer& answer) {
  AnswerEnding ending{.structure_warnings = answer.structure_warnings,
                      .usage = answer.usage,
                      .timings = answer.timings};
  if (answer.choices.empty()) return ending;
  const llm::Choice& choice = answer.choices.front();
  ending.reason = choice.finish_reason;
  ending.stopped_by = choice.stopped_by;
  ending.structure = choice.structure;
  ending.cut_character = choice.cut_character;
  return ending;
}

std::string call_id(std::string_view own, std::string_view answer_id, size_t block) {
  return own.empty() ? fmt::format("call_{}{}", answer_id, block) : std::string(own);
}

using Kind = AnswerBlock::Kind;

namespace {

llm::Failure mixed_up() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 502,
          .code = "stream_broken",
          .message =
              "the server that was asked mixed the calls of its stream; ask without "
              "stream, or for one call at a time"};
}

// The end of a text after the bytes that were sent.
std::string_view rest_of_block(std::string_view text, size_t emitted) {
  return emitted < text.size() ? text.substr(emitted) : std::string_view();
}

}  // namespace

void BlockStream::emit(const llm::Delta& delta, std::string& events) {
  begin_once(events);
  if (delta.raw.empty()) return emit_own(delta, events);
  raw_ = true;
  for (const llm::Delta& one : llm::read_raw_event(delta.raw))
    emit_own(one, events);
}

void BlockStream::end(const llm::Answer& answer, std::string& events) {
  begin_once(events);
  if (!answer.choices.empty()) {
    emit_rest(answer.choices.front(), events);
    ending_ = ending_of(answer);
  }
  ending_.usage = answer.usage;
  ending_.timings = answer.timings;
  if (mixed_) return fail(mixed_up(), events);
  // Some upstreams do not set it.
  const bool calls = raw_ && !argument_bytes_.empty();
  if (calls && ending_.reason == llm::FinishReason::kStop)
    ending_.reason = llm::FinishReason::kToolCalls;
  if (blocks_.empty() && needs_text()) open_block({.kind = Kind::kText}, events);
  close_block(&ending_, events);
  finish(ending_, events);
}

void BlockStream::fail(const llm::Failure& failure, std::string& events) {
  begin_once(events);
  failed(failure, events);
}

void BlockStream::begin_once(std::string& events) {
  if (!std::exchange(begun_, true)) begin(events);
}

void BlockStream::emit_own(const llm::Delta& delta, std::string& events) {
  // Only one choice was requested.
  if (delta.choice != 0) return;
  tokens_ += delta.tokens.size();
  pending_tokens_.insert(pending_tokens_.end(), delta.tokens.begin(), delta.tokens.end());
  // A merged delta may have the end of a tool call and the text after it.
  const int32_t emitted_first = is_open(Kind::kCall) ? call_ : -1;
  for (const llm::ToolCallPiece& call : delta.tool_calls) {
    if (call.index == emitted_first) emit_call(call, events);
  }
  emit_text(Kind::kReasoning, delta.reasoning, events);
  emit_text(Kind::kText, delta.text, events);
  emit_text(Kind::kRefusal, delta.refusal, events);
  for (const llm::ToolCallPiece& call : delta.tool_calls) {
    if (call.index != emitted_first) emit_call(call, events);
  }
  reasoning_bytes_ += delta.reasoning.size();
  text_bytes_ += delta.text.size();
  refusal_bytes_ += delta.refusal.size();
  if (delta.finish_reason) ending_.reason = *delta.finish_reason;
  if (delta.stopped_by) ending_.stopped_by = delta.stopped_by;
}

void BlockStream::emit_text(Kind kind, std::string_view text, std::string& events) {
  if (text.empty()) return;
  if (!is_open(kind)) open_block({.kind = kind}, events);
  AnswerBlock& block = blocks_.back();
  std::vector<llm::ScoredToken> tokens;
  if (kind == Kind::kText) tokens.swap(pending_tokens_);
  more(block, blocks_.size() - 1, text, tokens, events);
  block.text += text;
  block.tokens.insert(block.tokens.end(), tokens.begin(), tokens.end());
}

void BlockStream::emit_call(const llm::ToolCallPiece& call, std::string& events) {
  const auto place = static_cast<size_t>(call.index);
  if (call.index < call_ || place > argument_bytes_.size()) {
    mixed_ = true;
    return;
  }
  if (call.index > call_) {
    call_ = call.index;
    argument_bytes_.push_back(0);
    open_block({.kind = Kind::kCall, .call_id = call.id, .call_name = call.name}, events);
  } else if (!is_open(Kind::kCall)) {
    mixed_ = mixed_ || !call.arguments.empty();
    return;
  }
  if (call.arguments.empty()) return;
  AnswerBlock& block = blocks_.back();
  more(block, blocks_.size() - 1, call.arguments, {}, events);
  block.text += call.arguments;
  argument_bytes_[place] += call.arguments.size();
}

void BlockStream::emit_rest(const llm::Choice& choice, std::string& events) {
  llm::Delta rest{
      .text = std::string(rest_of_block(choice.text, text_bytes_)),
      .reasoning = std::string(rest_of_block(choice.reasoning.value_or(""), reasoning_bytes_)),
      .refusal = std::string(rest_of_block(choice.refusal.value_or(""), refusal_bytes_))};
  for (size_t i = 0; i < choice.tool_calls.size(); ++i) {
    const llm::ToolCall& call = choice.tool_calls[i];
    const bool known = i < argument_bytes_.size();
    const std::string_view arguments = known ? rest_of_block(call.arguments, argument_bytes_[i])
                                             : std::string_view(call.arguments);
    if (known && arguments.empty()) continue;
    rest.tool_calls.push_back({.index = static_cast<int32_t>(i),
                               .id = call.id,
                               .name = call.name,
                               .arguments = std::string(arguments)});
  }
  if (choice.tokens.size() > tokens_) {
    rest.tokens.assign(choice.tokens.begin() + static_cast<std::ptrdiff_t>(tokens_),
                       choice.tokens.end());
  }
  emit_own(rest, events);
}

void BlockStream::open_block(AnswerBlock block, std::string& events) {
  close_block(nullptr, events);
  blocks_.push_back(std::move(block));
  open_ = true;
  open(blocks_.back(), blocks_.size() - 1, events);
}

// Tokens without text, such as the last one, are sent with the text before them.
void BlockStream::close_block(const AnswerEnding* ending, std::string& events) {
  if (!std::exchange(open_, false)) return;
  AnswerBlock& block = blocks_.back();
  if (block.kind == Kind::kText)
    for (llm::ScoredToken& token : std::exchange(pending_tokens_, {}))
      block.tokens.push_back(std::move(token));
  close(block, blocks_.size() - 1, ending, events);
}

}  // namespace windrow::api
