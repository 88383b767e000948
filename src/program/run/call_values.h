// What the replies of models are to a program. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "program/lua/wait_result.h"
#include "program/models/program_models.h"
#include "program/run/open_calls.h"

namespace windrow::program {

AnswerValue answer_value(const OpenCall& call, const GenerateReply& reply);

// The likeliest text by the mean log-probability of its tokens, the first of equal ones.
SelectedValue selected_value(const OpenCall& call, const ScoreReply& reply);
ScoresValue scores_value(const OpenCall& call, const ScoreReply& reply);

// How a server elsewhere is asked for one of the texts: with room for the longest one and no more,
// because its tokens count beforehand.
GenerateOptions select_options(std::vector<std::string> choices);

// The choice that a server elsewhere answered; 502 `unusable_answer` where it is none.
std::variant<SelectedValue, llm::Failure> chosen_value(const OpenCall& call,
                                                       const llm::Choice& answer);

}  // namespace windrow::program
