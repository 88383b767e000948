// CallDetector: finds where a call begins in an answer that need not call. Up to a trigger, a mark
// of the model's family, everything is allowed; what follows it is for the grammar of calls.
//
// A trigger counts where readers of calls look for it: in what is said. Triggers of a family whose
// headers are made of control tokens are looked for in these, anywhere.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/reasoning.h"
#include "engine/host/types.h"
#include "grammar/token_mask.h"

namespace windrow::engine {

// The triggers of one vocabulary and syntax. Immutable; shared between threads.
class CallTriggers {
 public:
  struct Trigger {
    std::string text;   // not empty
    std::string next;   // what follows it in each call
    std::string begun;  // the part of the grammar's text that has come with it
  };

  // `texts`: what each token adds to the text that is searched. `in_speech`: only the said part of
  // an answer is searched, otherwise all of it. `before`: how the prompt ends, as far as it
  // matters.
  CallTriggers(std::vector<Trigger> triggers, bool in_speech, std::string before,
               std::span<const std::string> texts);

  std::span<const Trigger> triggers() const { return triggers_; }
  bool in_speech() const { return in_speech_; }
  const std::string& before() const { return before_; }

  // When `progress` bytes of a trigger are there: all tokens but those that would complete it and
  // go on with something that is no call. Null: every token.
  const std::shared_ptr<const grammar::TokenMask>& allowed(size_t trigger, size_t progress) const {
    return allowed_[trigger][progress];
  }

 private:
  std::vector<Trigger> triggers_;
  bool in_speech_;
  std::string before_;
  std::vector<std::vector<std::shared_ptr<const grammar::TokenMask>>> allowed_;
};

// Follows one answer. Used by one thread at a time.
class CallDetector {
 public:
  // `reasoning` and `prompt_end` as in AnswerForm.
  CallDetector(std::shared_ptr<const CallTriggers> triggers, const chat::ReasoningFormat& reasoning,
               std::string_view prompt_end);

  // A trigger is complete.
  struct Reached {
    const CallTriggers::Trigger* trigger = nullptr;
    std::string rest;  // the text after it
  };

  // The answer goes on by a token: what the answer's text shows of it, and its text with escapes.
  std::optional<Reached> take(std::string_view shown, std::string_view escaped);

  // The tokens that may come next. Null: every token.
  std::shared_ptr<const grammar::TokenMask> mask() const;

 private:
  std::optional<Reached> look(std::string_view text);

  std::shared_ptr<const CallTriggers> triggers_;
  chat::ReasoningStream reasoning_;
  std::vector<size_t> progress_;  // into each trigger
};

}  // namespace windrow::engine
