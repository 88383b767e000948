// How programs ask a model in this process for an answer. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "llm/answer.h"
#include "llm/request.h"
#include "program/models/program_models.h"

namespace windrow::program {

// 400 invalid_value: what no model can do, in the words of `ctx:generate`.
std::optional<llm::Failure> fault_of(const GenerateOptions& options);

// `options` without a fault. `output_tokens_default`: of options without a limit.
llm::Request generate_request(const ContextModel& model, Prompt prompt, GenerateOptions options,
                              int32_t output_tokens_default);

// The template argument enable_thinking becomes part of the chat, unless it has one.
void add_thinking(std::optional<bool> thinking, llm::Chat& chat);

}  // namespace windrow::program
