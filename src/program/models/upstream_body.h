// How programs ask a server elsewhere for an answer, and how its reply is read. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "program/models/program_models.h"

namespace windrow::program {

// A raw request: the messages as a chat, or the text of a context without messages as a completion.
// `model`: the name that the server knows. `options` without a fault (fault_of).
llm::Request upstream_request(std::string_view model, Prompt prompt, const GenerateOptions& options,
                              int32_t output_tokens_default);

// `choices`: StructureSpec::choices of what was asked; the text of the reply is then one of them
// unless it was cut. Failures:
//   502 unusable_answer   it is no answer, or none of the choices
//   422 refused_by_model  it says that the model refused
std::variant<GenerateReply, llm::Failure> read_upstream_reply(
    const llm::Answer& answer, const std::vector<std::string>& choices);

}  // namespace windrow::program
