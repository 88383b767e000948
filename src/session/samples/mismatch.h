// Mismatch: whether the tokens of a session are those that the model's template would give for the
// whole conversation now. A report; nothing depends on it. Differences in what the model sampled
// are its own (it may write what no tokenizer would, and templates leave out its reasoning); all
// others show that increments or templates are wrong. Pure; any thread. Takes as long as rendering
// and tokenising the conversation.
//
// Both are cut into segments: each control token is one, and so is the text between two of them.
// The structure has to be the same, and then each segment: a text by its characters, however it was
// tokenised. What is behind the last text is left out: the template closes an answer as it likes,
// and the session does not know yet what follows.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/request.h"
#include "llm/tokenizer.h"
#include "session/history/turn_path.h"
#include "session/samples/answer_span.h"

namespace windrow::session {

enum class MismatchKind : uint8_t {
  kSpecialTokenCount,  // special_token_count: the structure differs; nothing more is compared
  kSpecialTokenType,   // special_token_type
  kNonAssistantText,   // non_assistant_text
  kAssistantText,      // assistant_text: the model sampled a part of the segment, or all of it
};
std::string_view to_string(MismatchKind kind);

struct Mismatch {
  MismatchKind kind = MismatchKind::kAssistantText;
  int64_t segment = -1;  // from 0; -1: of the whole
  std::string expected;
  std::string actual;
  std::string detail;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

// `chat`: the messages of the conversation, with the tools and arguments of the last request.
// Nothing where it cannot be rendered, or has no turn.
std::optional<std::vector<Mismatch>> find_mismatches(const TurnPath& conversation,
                                                     const llm::Chat& chat,
                                                     const llm::Tokenizer& tokenizer);

// The same of tokens. `sampled`: parts of `actual`, in order.
std::vector<Mismatch> compare_tokens(std::span<const int32_t> expected,
                                     std::span<const int32_t> actual,
                                     std::span<const AnswerSpan> sampled,
                                     const llm::Tokenizer& tokenizer);

// [{"type", "segment_index", "expected_text", "actual_text", "detail"}...]
boost::json::array to_json(std::span<const Mismatch> mismatches);

}  // namespace windrow::session
