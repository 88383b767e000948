// The rows of the table about the programs of `windrow exec`.
#include <array>
#include <limits>

#include "app/settings/settings.h"

namespace windrow::app {
namespace {

constexpr int64_t kProgramCountMax = std::numeric_limits<int32_t>::max();

// Fills in what these rows have in common: their group, and the only command that takes them.
template <size_t kCount>
constexpr auto of_programs(std::array<SettingRow, kCount> rows) {
  for (SettingRow& row : rows) {
    row.group = SettingGroup::kPrograms;
    row.scope = SettingScope::kExec;
  }
  return rows;
}

constexpr auto kProgramRows = of_programs(std::to_array<SettingRow>({
    {.name = "program-memory-mb",
     .field = &Settings::program_memory_mb,
     .value_name = "MB",
     .help = "maximum memory of one instance, without the model's",
     .value_min = 1,
     .value_max = 1'048'576},
    {.name = "program-instructions",
     .field = &Settings::program_instructions,
     .value_name = "N",
     .help = "maximum instructions of one instance between two calls that wait",
     .value_min = 1000,
     .value_max = std::numeric_limits<int64_t>::max()},
    {.name = "program-seconds",
     .field = &Settings::program_seconds,
     .value_name = "SECONDS",
     .help = "maximum time of one instance",
     .value_min = 1,
     .value_max = 365 * 86'400},
    {.name = "program-tokens",
     .field = &Settings::program_tokens,
     .value_name = "TOKENS",
     .help = "maximum tokens of one instance: those of prompts that were not cached, and those of "
             "answers",
     .value_min = 1,
     .value_max = std::numeric_limits<int64_t>::max()},
    {.name = "program-contexts",
     .field = &Settings::program_contexts,
     .value_name = "N",
     .help = "maximum contexts of one instance at a time",
     .value_min = 1,
     .value_max = 1'000'000,
     .alters_answers = true},
    {.name = "program-branches",
     .field = &Settings::program_branches,
     .value_name = "N",
     .help = "maximum branches of one all, race or map that run at a time",
     .value_min = 1,
     .value_max = 1'000'000,
     .alters_answers = true},
    {.name = "programs-in-flight",
     .field = &Settings::programs_in_flight,
     .value_name = "N",
     .help = "instances that run at a time",
     .value_min = 1,
     .value_max = kProgramCountMax},
    {.name = "program-model",
     .field = &Settings::program_model,
     .value_name = "NAME",
     .help = "model of contexts for which the program names none",
     .default_words = "the only one",
     .alters_answers = true},
    {.name = "program-embed-model",
     .field = &Settings::program_embed_model,
     .value_name = "NAME",
     .help = "model that embeds texts where the program names none",
     .default_words = "the only one that does",
     .alters_answers = true},
}));

}  // namespace

std::span<const SettingRow> settings_of_programs() {
  return kProgramRows;
}

}  // namespace windrow::app
