#include "engine/structure/call_detector.h"

#include <utility>

#include "engine/structure/reasoning_gate.h"

namespace windrow::engine {

CallTriggers::CallTriggers(std::vector<Trigger> triggers, bool in_speech, std::string before,
                           std::span<const std::string> texts)
    : triggers_(std::move(triggers)), in_speech_(in_speech), before_(std::move(before)) {
  const auto size = static_cast<int32_t>(texts.size());
  for (const Trigger& trigger : triggers_) {
    auto& allowed = allowed_.emplace_back(trigger.text.size());
    for (size_t progress = 0; progress < trigger.text.size(); ++progress) {
      std::vector<bool> wrong(texts.size(), false);
      bool any = false;
      for (size_t i = 0; i < texts.size(); ++i) {
        // Few tokens have the last byte of the trigger.
        if (texts[i].find(trigger.text.back()) == std::string::npos) continue;
        const ReasoningGate::Found found = ReasoningGate::find(trigger.text, progress, texts[i]);
        if (found.progress < trigger.text.size()) continue;
        wrong[i] = !trigger.next.starts_with(std::string_view(texts[i]).substr(found.bytes));
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

CallDetector::CallDetector(std::shared_ptr<const CallTriggers> triggers,
                           const chat::ReasoningFormat& reasoning, std::string_view prompt_end)
    : triggers_(std::move(triggers)),
      reasoning_(reasoning, prompt_end),
      progress_(triggers_->triggers().size(), 0) {
  look(triggers_->before());
}

std::optional<CallDetector::Reached> CallDetector::look(std::string_view text) {
  std::optional<Reached> reached;
  for (size_t i = 0; i < progress_.size(); ++i) {
    const CallTriggers::Trigger& trigger = triggers_->triggers()[i];
    const ReasoningGate::Found found = ReasoningGate::find(trigger.text, progress_[i], text);
    progress_[i] = found.progress;
    if (found.progress < trigger.text.size()) continue;
    progress_[i] = 0;
    if (!reached) reached = {.trigger = &trigger, .rest = std::string(text.substr(found.bytes))};
  }
  return reached;
}

std::optional<CallDetector::Reached> CallDetector::take(std::string_view shown,
                                                        std::string_view escaped) {
  return triggers_->in_speech() ? look(reasoning_.take(shown).content) : look(escaped);
}

std::shared_ptr<const grammar::TokenMask> CallDetector::mask() const {
  std::shared_ptr<const grammar::TokenMask> mask;
  for (size_t i = 0; i < progress_.size(); ++i) {
    const auto& one = triggers_->allowed(i, progress_[i]);
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
