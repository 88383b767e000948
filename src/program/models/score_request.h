// How programs ask a model in this process how likely texts are. Pure; any thread.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "program/models/program_models.h"

namespace windrow::program {

// One request with a prompt for each continuation, so that all are computed together and what is
// before them once. 400 invalid_value: the context or a text has no tokens.
std::variant<llm::Request, llm::Failure> score_request(
    const ContextModel& model, const Prompt& prompt,
    const std::vector<std::vector<int32_t>>& continuations);

// `tokens`: how many each continuation has. 502 unusable_answer: scores are missing.
std::variant<ScoreReply, llm::Failure> read_scores(const llm::Answer& answer,
                                                   const std::vector<size_t>& tokens);

}  // namespace windrow::program
