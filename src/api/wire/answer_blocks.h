// AnswerBlock: a part of an answer, as APIs have them that give an answer as a list of parts: what
// was thought, what was said, each call of a tool. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"

namespace windrow::api {

struct AnswerBlock {
  enum class Kind : uint8_t {
    kThoughts,
    kText,
    kRefusal,  // of a server elsewhere
    kCall,
  };

  Kind kind = Kind::kText;
  std::string text;       // kCall: its arguments
  std::string call_id;    // kCall
  std::string call_name;  // kCall

  // kText: those of the whole answer, where they are listed. What was thought and the token that
  // ended the answer are among them, as in /v1/chat/completions.
  std::vector<llm::ScoredToken> tokens;
};

// How an answer ended.
struct AnswerEnding {
  llm::FinishReason reason = llm::FinishReason::kStop;
  std::optional<std::string> stopped_by;
  std::optional<llm::StructureLabel> structure;
  bool cut_character = false;
  std::vector<std::string> structure_warnings;
  llm::Usage usage;
  llm::Timings timings;
};

// Of an answer's only choice, in the order in which a model makes them.
std::vector<AnswerBlock> blocks_of(const llm::Choice& choice);
AnswerEnding ending_of(const llm::Answer& answer);

// The id of a call: its own, or where a server elsewhere gave none, one made of the answer's.
std::string call_id(std::string_view own, std::string_view answer_id, size_t block);

}  // namespace windrow::api
