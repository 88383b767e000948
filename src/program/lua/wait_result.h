// WaitResult: what a call that waited brought, on its way into Lua. Plain values.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "llm/answer.h"

namespace windrow::program {

struct AnswerValue {
  std::string text;
  std::optional<std::string> thought;
  llm::FinishReason finish = llm::FinishReason::kStop;
  bool is_truncated = false;
  std::optional<boost::json::value> value;  // of an answer under a schema
  llm::Usage usage;
};

struct ScoredText {
  std::string text;
  double logprob = 0;  // of all its tokens together
  int32_t tokens = 0;

  double mean() const { return tokens > 0 ? logprob / tokens : 0; }
};

struct ScoresValue {
  std::vector<ScoredText> scores;
};

struct SelectedValue {
  size_t index = 0;  // counted from 0
  std::string text;
  std::vector<ScoredText> scores;  // empty where a server elsewhere chose
};

struct VectorsValue {
  std::vector<std::vector<float>> vectors;
  bool is_single = false;  // of one text, not of a list
};

// The branches of a group have ended; what they returned is in Lua already.
struct GroupValue {
  uint32_t group = 0;
  std::optional<size_t> winner;  // of a race
};

// A branch failed with a Lua error, which the waiting task raises again.
struct BranchError {
  uint32_t task = 0;
};

using WaitResult = std::variant<AnswerValue, ScoresValue, SelectedValue, VectorsValue, GroupValue,
                                BranchError, llm::Failure>;

}  // namespace windrow::program
