#include "engine/structure/call_gate.h"

#include <utility>

#include "engine/structure/thought_gate.h"

namespace windrow::engine {

CallMarks::CallMarks(std::vector<Mark> marks, bool in_speech, std::string before,
                     std::span<const std::string> texts)
    : marks_(std::move(marks)), in_speech_(in_speech), before_(std::move(before)) {
  const auto size = static_cast<int32_t>(texts.size());
  for (const Mark& mark : marks_) {
    auto& allowed = allowed_.emplace_back(mark.text.size());
    for (size_t progress = 0; progress < mark.text.size(); ++progress) {
      std::vector<bool> wrong(texts.size(), false);
      bool any = false;
      for (size_t i = 0; i < texts.size(); ++i) {
        // Few tokens have the last byte of it.
        if (texts[i].find(mark.text.back()) == std::string::npos) continue;
        const ReasoningGate::Found found = ReasoningGate::find(mark.text, progress, texts[i]);
        if (found.progress < mark.text.size()) continue;
        wrong[i] = !mark.next.starts_with(std::string_view(texts[i]).substr(found.bytes));
        any = any || wrong[i];
      }
      if (!any) continue;
      grammar::TokenMask mask(size);
      for (int32_t token = 0; token < size; ++token) {
        if (!wrong[static_cast<size_t>(token)]) mask.allow(token);
      }
      allowed[progress] = std::make_shared<const grammar::TokenMask>(std::move(mask));
    }
  }
}

CallGate::CallGate(std::shared_ptr<const CallMarks> marks, const chat::ReasoningFormat& reasoning,
                   std::string_view prompt_end)
    : marks_(std::move(marks)),
      thoughts_(reasoning, prompt_end),
      progress_(marks_->marks().size(), 0) {
  look(marks_->before());
}

std::optional<CallGate::Reached> CallGate::look(std::string_view text) {
  std::optional<Reached> reached;
  for (size_t i = 0; i < progress_.size(); ++i) {
    const CallMarks::Mark& mark = marks_->marks()[i];
    const ReasoningGate::Found found = ReasoningGate::find(mark.text, progress_[i], text);
    progress_[i] = found.progress;
    if (found.progress < mark.text.size()) continue;
    progress_[i] = 0;
    if (!reached) reached = {.mark = &mark, .rest = std::string(text.substr(found.bytes))};
  }
  return reached;
}

std::optional<CallGate::Reached> CallGate::take(std::string_view shown, std::string_view spelled) {
  return marks_->in_speech() ? look(thoughts_.take(shown).content) : look(spelled);
}

std::shared_ptr<const grammar::TokenMask> CallGate::mask() const {
  std::shared_ptr<const grammar::TokenMask> mask;
  for (size_t i = 0; i < progress_.size(); ++i) {
    const auto& one = marks_->allowed(i, progress_[i]);
    if (!one || !mask) {
      if (one) mask = one;
      continue;
    }
    auto both = std::make_shared<grammar::TokenMask>(*mask);
    const auto words = both->words();
    for (size_t w = 0; w < words.size(); ++w)
      words[w] &= one->words()[w];
    mask = std::move(both);
  }
  return mask;
}

}  // namespace windrow::engine
