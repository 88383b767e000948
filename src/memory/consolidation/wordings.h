// The fixed texts of the prompts of consolidation, by profile. They name no bank and no batch, so
// their KV cache is shared. Pure; any thread.
#pragma once

#include <string_view>

#include "memory/bank/bank.h"

namespace windrow::memory {

// How a model turns facts into actions.
std::string_view consolidation_system_text(PromptProfile profile);

// How it judges whether two observations say the same.
std::string_view fold_system_text(PromptProfile profile);

// What a bank without a mission of its own asks for.
std::string_view default_mission();

}  // namespace windrow::memory
