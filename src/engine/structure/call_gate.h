// CallGate: where calls begin in an answer that need not call. Up to a mark of its model's family
// all is free; what comes behind it is for the grammar of calls.
//
// The mark counts where whoever reads calls finds it: in what is said. Marks of a family whose
// headers are made of control tokens are looked for in these, everywhere.
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

// Made once for a vocabulary and a syntax; immutable, shared between threads.
class CallMarks {
 public:
  struct Mark {
    std::string text;   // not empty
    std::string next;   // what comes behind it in each call
    std::string begun;  // of the grammar's text so much has come with it
  };

  // `texts`: what each token adds to the text in which marks are looked for. `in_speech`: that is
  // what is said, and not all of the answer. `before`: how the prompt ends, as far as it matters.
  CallMarks(std::vector<Mark> marks, bool in_speech, std::string before,
            std::span<const std::string> texts);

  std::span<const Mark> marks() const { return marks_; }
  bool in_speech() const { return in_speech_; }
  const std::string& before() const { return before_; }

  // Without the tokens that would complete a mark and go on with what is no call, where so much of
  // it is there. Null: there are none.
  const std::shared_ptr<const grammar::TokenMask>& allowed(size_t mark, size_t progress) const {
    return allowed_[mark][progress];
  }

 private:
  std::vector<Mark> marks_;
  bool in_speech_;
  std::string before_;
  std::vector<std::vector<std::shared_ptr<const grammar::TokenMask>>> allowed_;
};

// Of one answer.
class CallGate {
 public:
  // `reasoning` and `prompt_end` as in AnswerForm.
  CallGate(std::shared_ptr<const CallMarks> marks, const chat::ReasoningFormat& reasoning,
           std::string_view prompt_end);

  // A mark is there: which, and what of the text came behind it.
  struct Reached {
    const CallMarks::Mark* mark = nullptr;
    std::string rest;
  };

  // The answer goes on by a token: what it shows of it, and how grammars have it.
  std::optional<Reached> take(std::string_view shown, std::string_view spelled);

  // What may come next; null: anything.
  std::shared_ptr<const grammar::TokenMask> mask() const;

 private:
  std::optional<Reached> look(std::string_view text);

  std::shared_ptr<const CallMarks> marks_;
  chat::ReasoningStream thoughts_;
  std::vector<size_t> progress_;  // into each mark
};

}  // namespace windrow::engine
