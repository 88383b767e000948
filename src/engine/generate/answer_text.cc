#include "engine/generate/answer_text.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "base/utf8.h"

namespace windrow::engine {
namespace {

// The form of an answer whose text is split into content and calls.
llm::WholeForm with_calls(chat::CallsOfAnswer split, uint64_t seed, llm::FinishReason reason) {
  llm::WholeForm form{.text = std::move(split.content), .finish_reason = reason};
  for (chat::WrittenCall& call : split.calls) {
    const auto index = static_cast<int32_t>(form.tool_calls.size());
    form.tool_calls.push_back({.id = call_id(seed, index),
                               .name = std::move(call.name),
                               .arguments = std::move(call.arguments)});
  }
  if (!form.tool_calls.empty() && split.all_whole && reason == llm::FinishReason::kStop)
    form.finish_reason = llm::FinishReason::kToolCalls;
  return form;
}

}  // namespace

// --- stop texts ---------------------------------------------------------------------------------

bool AnswerText::append(std::string_view bytes) {
  const size_t before = bytes_.size();
  bytes_ += bytes;
  size_t first = std::string::npos;
  for (const std::string& stop : stop_) {
    const size_t from = before - std::min(before, stop.size() - 1);
    const size_t at = bytes_.find(stop, from);
    if (at >= first) continue;
    first = at;
    stopped_by_ = stop;
  }
  if (first == std::string::npos) return false;
  bytes_.resize(first);
  return true;
}

size_t AnswerText::settled_bytes() const {
  const std::string_view text = bytes_;
  size_t held = 0;  // bytes at the end that a stop text may begin with
  for (const std::string& stop : stop_) {
    for (size_t length = std::min(stop.size() - 1, text.size()); length > held; --length) {
      if (text.ends_with(std::string_view(stop).substr(0, length))) held = length;
    }
  }
  // A stop text may begin within a character, where it was given as bytes.
  const std::string_view settled = text.substr(0, text.size() - held);
  return settled.size() - utf8_incomplete_tail(settled);
}

// --- tool calls ---------------------------------------------------------------------------------

uint64_t call_seed(std::span<const Token> prompt, uint64_t sampling_seed) {
  const std::string_view bytes(reinterpret_cast<const char*>(prompt.data()), prompt.size_bytes());
  return hash64(bytes, sampling_seed);
}

std::string call_id(uint64_t seed, int32_t index) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int kLength = 24;
  // Calls of one answer are far apart, whatever its seed.
  Random random(Random(seed).next() + static_cast<uint64_t>(index) * 0xD1B54A32D192ED03ULL);
  std::string id = "call_";
  for (int i = 0; i < kLength; ++i)
    id += kDigits[random.below(kDigits.size())];
  return id;
}

void take_calls(const std::shared_ptr<const chat::ToolContext>& tools, uint64_t seed,
                llm::Choice& choice) {
  chat::CallsOfAnswer split = chat::split_calls(tools, choice.text);
  const bool all_whole = split.all_whole;
  llm::WholeForm form = with_calls(std::move(split), seed, choice.finish_reason);
  if (!all_whole) {
    const bool cut = choice.finish_reason != llm::FinishReason::kStop;
    llm::WholeForm whole =
        with_calls(chat::split_calls(tools, choice.text, chat::CallDelivery::kComplete, cut), seed,
                   choice.finish_reason);
    if (whole != form) choice.when_whole = std::move(whole);
  }
  choice.text = std::move(form.text);
  choice.tool_calls = std::move(form.tool_calls);
  choice.finish_reason = form.finish_reason;
}

CallEnd::CallEnd(const chat::ReasoningContext& reasoning,
                 std::shared_ptr<const chat::ToolContext> tools)
    : reasoning_(reasoning.format, reasoning.prompt_end), calls_(std::move(tools)) {}

bool CallEnd::reached(std::string_view text) {
  if (text.size() > taken_bytes_) {
    calls_.take(utf8_repair(reasoning_.take(text.substr(taken_bytes_)).content));
    taken_bytes_ = text.size();
  }
  return calls_.over();
}

}  // namespace windrow::engine
