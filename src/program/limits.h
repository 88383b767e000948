// The limits of one instance of a program, and the codes of the errors that say which one was hit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/clock.h"

namespace windrow::program {

struct ProgramLimits {
  size_t memory_bytes_max = size_t{64} << 20;  // of its Lua state
  int64_t instructions_max = 10'000'000;       // between two calls that wait
  Duration wall_max = std::chrono::seconds(600);
  int64_t tokens_max = 1'000'000;              // prompts (what was not cached) and answers
  size_t contexts_max = 1024;                  // at a time
  size_t children_max = 256;                   // branches of a group that run at a time
  size_t result_bytes_max = size_t{16} << 20;  // of its result as JSON
};

// Branches of branches: how deep groups may be nested. Not a setting: cancelling one goes as deep.
inline constexpr int32_t kGroupDepthMax = 200;

// The codes of rows that failed by a limit, and of other ends.
inline constexpr std::string_view kMemoryLimit = "program_memory_limit";
inline constexpr std::string_view kInstructionLimit = "program_instruction_limit";
inline constexpr std::string_view kTimeLimit = "program_time_limit";
inline constexpr std::string_view kTokenLimit = "program_token_limit";
inline constexpr std::string_view kContextLimit = "program_context_limit";
inline constexpr std::string_view kChildrenLimit = "program_children_limit";
inline constexpr std::string_view kResultLimit = "program_result_limit";
inline constexpr std::string_view kProgramError = "program_error";      // an error of its own
inline constexpr std::string_view kProgramInvalid = "program_invalid";  // it does not compile

}  // namespace windrow::program
