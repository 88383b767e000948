// Mismatch: whether the tokens of a session are those that the model's template would give for the
// whole conversation now. A report; nothing depends on it. Differences in what the model sampled
// are its own (it may write what no tokenizer would); all others show that increments or templates
// are wrong. Pure; any thread. Takes as long as rendering and tokenising the conversation.
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

namespace windrow::session {

enum class MismatchKind : uint8_t {
  kSpecialTokenCount,  // special_token_count: the structure differs; nothing more is compared
  kSpecialTokenType,   // special_token_type
  kNonAssistantText,   // non_assistant_text
  kAssistantText,      // assistant_text
};
std::string_view to_string(MismatchKind kind);

struct Mismatch {
  MismatchKind kind = MismatchKind::kAssistantText;
  int64_t segment = -1;  // between special tokens, from 0; -1: of the whole
  std::string expected;
  std::string actual;
  std::string detail;
};

// `tokens`: the session's. `chat`: its messages with the tools and arguments of the last request.
// Nothing where the conversation cannot be rendered.
std::optional<std::vector<Mismatch>> find_mismatches(std::span<const int32_t> tokens,
                                                     const llm::Chat& chat,
                                                     const llm::Tokenizer& tokenizer);

boost::json::array to_json(std::span<const Mismatch> mismatches);

}  // namespace windrow::session
