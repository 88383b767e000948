// The flags that say how the records of a table become requests, for `run` and `retry`.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command_line.h"
#include "app/commands/flag_table.h"

namespace windrow::app {

// Sets a text of TableFlags, and remembers that it was given.
template <std::string TableFlags::* kText, const char* kName, class Target>
Result<void> set_table_text(std::string_view text, Target& target) {
  if (text.empty()) return Error{ErrorKind::kInvalid, "the value is empty"};
  target.table.*kText = text;
  target.table.given.emplace_back(kName);
  return {};
}

namespace table_flag_names {
inline constexpr char kId[] = "--id";
inline constexpr char kPrompt[] = "--prompt";
inline constexpr char kPromptFile[] = "--prompt-file";
inline constexpr char kSystem[] = "--system";
inline constexpr char kSchema[] = "--schema";
inline constexpr char kEmbed[] = "--embed";
inline constexpr char kDelimiter[] = "--delimiter";
}  // namespace table_flag_names

// `first`, and the flags of a table under a heading of their own.
template <class Target>
std::vector<Flag<Target>> with_table_flags(std::span<const Flag<Target>> first) {
  namespace names = table_flag_names;
  constexpr std::string_view kGroup = "Tables (CSV, TSV, JSON, JSONL or lines of text as input)";
  std::vector<Flag<Target>> flags(first.begin(), first.end());
  const std::initializer_list<Flag<Target>> more = {
      {.group = kGroup,
       .name = "prompt",
       .value_name = "TEMPLATE",
       .help = "message about each record: 'Classify: {{ title }}', a column in braces (Jinja)",
       .set = set_table_text<&TableFlags::prompt, names::kPrompt, Target>},
      {.group = kGroup,
       .name = "prompt-file",
       .value_name = "FILE",
       .help = "the same from a file",
       .set = set_table_text<&TableFlags::prompt_file, names::kPromptFile, Target>},
      {.group = kGroup,
       .name = "system",
       .value_name = "TEMPLATE",
       .help = "system message before it",
       .set = set_table_text<&TableFlags::system, names::kSystem, Target>},
      {.group = kGroup,
       .name = "embed",
       .value_name = "TEMPLATE",
       .help = "instead of a prompt: text to embed of each record",
       .set = set_table_text<&TableFlags::embed, names::kEmbed, Target>},
      {.group = kGroup,
       .name = "id",
       .value_name = "COLUMN",
       .help = "column whose values identify records when the job is continued (default: their "
               "numbers)",
       .set = set_table_text<&TableFlags::id, names::kId, Target>},
      {.group = kGroup,
       .name = "schema",
       .value_name = "FILE",
       .help = "JSON Schema that every answer follows; its members become columns of a table",
       .set = set_table_text<&TableFlags::schema, names::kSchema, Target>},
      {.group = kGroup,
       .name = "max-tokens",
       .value_name = "N",
       .help = "tokens of an answer at most",
       .set = [](std::string_view text, Target& target) -> Result<void> {
         const Result<int64_t> value = parse_number(text, int64_t{1}, int64_t{1} << 31);
         if (!value) return value.error();
         target.table.max_tokens = *value;
         target.table.given.emplace_back("--max-tokens");
         return {};
       }},
      {.group = kGroup,
       .name = "temperature",
       .value_name = "T",
       .help = "0 takes the most likely token each time",
       .set = [](std::string_view text, Target& target) -> Result<void> {
         const Result<double> value = parse_number(text, 0.0, 2.0);
         if (!value) return value.error();
         target.table.temperature = *value;
         target.table.given.emplace_back("--temperature");
         return {};
       }},
      {.group = kGroup,
       .name = "delimiter",
       .value_name = "CHAR",
       .help = "between the values of a CSV file: ';', tab (default: found in its first line)",
       .set = set_table_text<&TableFlags::delimiter, names::kDelimiter, Target>}};
  flags.insert(flags.end(), more);
  return flags;
}

}  // namespace windrow::app
