#include "app/settings/settings.h"

#include <array>
#include <limits>
#include <vector>

namespace windrow::app {
namespace {

constexpr int64_t kTokensMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kTableCountMax = std::numeric_limits<int64_t>::max();

constexpr std::array<std::string_view, 2> kSchemaUnknown = {"annotate", "refuse"};
constexpr std::array<std::string_view, 3> kColor = {"auto", "always", "never"};
constexpr std::array<std::string_view, 2> kUnknownFields = {"refuse", "ignore"};

constexpr SettingRow kOfRows[] = {
    {.name = "limit",
     .field = &Settings::limit,
     .group = SettingGroup::kRows,
     .value_name = "N",
     .help = "read only the first N rows of the input",
     .value_min = 1,
     .value_max = kTableCountMax,
     .default_words = "all rows",
     .reach = SettingReach::kFlagOnly,
     .scope = SettingScope::kJobs,
     .common = true},
    {.name = "strict",
     .field = &Settings::strict,
     .group = SettingGroup::kRows,
     .help = "check every row first and start only if all are valid",
     .scope = SettingScope::kJobs},
    {.name = "retry-failed",
     .field = &Settings::retry_failed,
     .group = SettingGroup::kRows,
     .help = "rerun rows that failed in earlier runs",
     .reach = SettingReach::kFlagOnly,
     .scope = SettingScope::kJobs,
     .common = true},
    {.name = "fresh",
     .field = &Settings::fresh,
     .group = SettingGroup::kRows,
     .help = "start over; earlier result files are kept under new names",
     .reach = SettingReach::kFlagOnly,
     .scope = SettingScope::kJobs,
     .common = true},
    {.name = "max-failures",
     .field = &Settings::failures_max,
     .group = SettingGroup::kRows,
     .value_name = "N|all",
     .help = "stop when N rows of this run have failed; all: never stop for failures",
     .default_words = "stop when the first 100 rows all fail alike",
     .scope = SettingScope::kJobs},
    {.name = "dry-run",
     .field = &Settings::dry_run,
     .group = SettingGroup::kRows,
     .help = "count rows and tokens and estimate the time; write nothing",
     .reach = SettingReach::kFlagOnly,
     .scope = SettingScope::kRun,
     .common = true},
};

constexpr SettingRow kOfRuns[] = {
    // The answers
    {.name = "set",
     .field = &Settings::body_defaults,
     .group = SettingGroup::kAnswers,
     .value_name = "KEY=VALUE",
     .help = "body field added to every row that lacks it: temperature=0 (repeatable)",
     .scope = SettingScope::kRequests,
     .common = true,
     .alters_answers = true},
    {.name = "unknown-fields",
     .field = &Settings::unknown_fields,
     .group = SettingGroup::kAnswers,
     .value_name = "HOW",
     .help = "unknown body fields: refuse the request, or ignore the fields and name them",
     .choices = kUnknownFields,
     .scope = SettingScope::kRequests},
    {.name = "max-tokens-default",
     .field = &Settings::output_tokens_default,
     .group = SettingGroup::kAnswers,
     .value_name = "TOKENS",
     .help = "output limit of rows without max_tokens",
     .value_min = 1,
     .value_max = kTokensMax,
     .alters_answers = true},
    {.name = "call-reasoning",
     .field = &Settings::call_reasoning_percent,
     .group = SettingGroup::kAnswers,
     .value_name = "PERCENT",
     .help = "share of max_tokens that reasoning before a forced tool call may take",
     .value_min = 0,
     .value_max = 100,
     .scope = SettingScope::kRequests,
     .alters_answers = true},
    {.name = "keep-truncated",
     .field = &Settings::keep_truncated,
     .group = SettingGroup::kAnswers,
     .help = "count an answer cut off before its structure was complete as a result, not a failure",
     .scope = SettingScope::kRun,
     .alters_answers = true},
    {.name = "schema-unknown",
     .field = &Settings::schema_unknown,
     .group = SettingGroup::kAnswers,
     .value_name = "WAY",
     .help = "unknown keywords and formats in schemas: annotate (no effect) or refuse",
     .choices = kSchemaUnknown},
    {.name = "dedupe",
     .field = &Settings::dedupe,
     .group = SettingGroup::kAnswers,
     .help = "compute identical requests once",
     .help_off = "compute identical requests separately instead of once",
     .scope = SettingScope::kRequests},
    {.name = "cache",
     .field = &Settings::cache,
     .group = SettingGroup::kAnswers,
     .value_name = "FILE",
     .help = "file that keeps repeatable answers of servers, for this job and others",
     .default_words = "none",
     .scope = SettingScope::kRun},

    // The batch
    {.name = "rows-max",
     .field = &Settings::rows_max,
     .group = SettingGroup::kBatch,
     .value_name = "N",
     .help = "maximum rows in one forward pass",
     .value_min = 1,
     .value_max = 256},
    {.name = "batch-tokens",
     .field = &Settings::batch_tokens,
     .group = SettingGroup::kBatch,
     .value_name = "TOKENS",
     .help = "maximum tokens in one forward pass",
     .value_min = 1,
     .value_max = 1'048'576},
    {.name = "step-ms",
     .field = &Settings::step_ms,
     .group = SettingGroup::kBatch,
     .value_name = "MS",
     .help = "target time of one forward pass; long prompts are prefilled in chunks",
     .value_min = 1,
     .value_max = 600'000,
     .default_words = "2000; 200 for serve"},

    // The end
    {.name = "ordered",
     .field = &Settings::ordered,
     .group = SettingGroup::kEnd,
     .help = "sort the results into input order when the job is complete",
     .scope = SettingScope::kJobs},
    {.name = "grace",
     .field = &Settings::grace_s,
     .group = SettingGroup::kEnd,
     .value_name = "SECONDS",
     .help = "time that running requests get to finish after Ctrl-C",
     .value_min = 0,
     .value_max = 86'400},
    {.name = "report",
     .field = &Settings::report,
     .group = SettingGroup::kEnd,
     .value_name = "FILE.html",
     .help = "write an HTML report with charts",
     .default_words = "none",
     .reach = SettingReach::kFlagOnly,
     .scope = SettingScope::kJobs,
     .common = true},

    // Console
    {.name = "config",
     .field = &Settings::config,
     .group = SettingGroup::kConsole,
     .value_name = "FILE",
     .help = "read settings from this TOML file and no other",
     .default_words = "windrow.toml, then the user's file",
     .reach = SettingReach::kFlagOnly},
    {.name = "summary",
     .field = &Settings::summary,
     .group = SettingGroup::kConsole,
     .help = "print the summary table at the end",
     .help_off = "do not print the summary table at the end",
     .scope = SettingScope::kJobs},
    {.name = "json",
     .field = &Settings::json,
     .group = SettingGroup::kConsole,
     .help = "print events as JSON lines on standard output instead of progress",
     .reach = SettingReach::kFlagOnly},
    {.name = "quiet",
     .field = &Settings::quiet,
     .group = SettingGroup::kConsole,
     .help = "print only warnings and errors"},
    {.name = "color",
     .field = &Settings::color,
     .group = SettingGroup::kConsole,
     .value_name = "WHEN",
     .help = "colours (--no-color or the variable NO_COLOR: never)",
     .choices = kColor},
};

}  // namespace

std::span<const SettingRow> setting_rows() {
  static const std::vector<SettingRow> kAll = [] {
    std::vector<SettingRow> all;
    for (const std::span<const SettingRow> some :
         {std::span<const SettingRow>(kOfRows), settings_of_models(), settings_of_server(),
          settings_of_sessions(), settings_of_programs(), std::span<const SettingRow>(kOfRuns)})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kAll;
}

}  // namespace windrow::app
