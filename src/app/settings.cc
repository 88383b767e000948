#include "app/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <array>
#include <cctype>
#include <limits>

namespace windrow::app {
namespace {

constexpr int64_t kTokensMax = std::numeric_limits<int32_t>::max();
constexpr int64_t kCountMax = std::numeric_limits<int64_t>::max();

constexpr std::array<std::string_view, 8> kKvTypes = {"f32",  "f16",  "bf16", "q8_0",
                                                      "q5_1", "q5_0", "q4_1", "q4_0"};
constexpr std::array<std::string_view, 2> kKvCaches = {"unified", "split"};
constexpr std::array<std::string_view, 3> kFlashAttention = {"auto", "on", "off"};
constexpr std::array<std::string_view, 3> kColor = {"auto", "always", "never"};

constexpr SettingRow kRows[] = {
    // Which rows
    {.name = "limit",
     .field = &Settings::limit,
     .group = SettingGroup::kRows,
     .value_name = "N",
     .help = "read only the first N rows of the input",
     .value_min = 1,
     .value_max = kCountMax,
     .default_words = "all rows",
     .reach = SettingReach::kFlagOnly},
    {.name = "strict",
     .field = &Settings::strict,
     .group = SettingGroup::kRows,
     .help = "check every row first and start only when all are good"},
    {.name = "retry-failed",
     .field = &Settings::retry_failed,
     .group = SettingGroup::kRows,
     .help = "run the rows again that failed in earlier runs",
     .reach = SettingReach::kFlagOnly},
    {.name = "fresh",
     .field = &Settings::fresh,
     .group = SettingGroup::kRows,
     .help = "start over, keeping the files of the earlier runs under other names",
     .reach = SettingReach::kFlagOnly},
    {.name = "dry-run",
     .field = &Settings::dry_run,
     .group = SettingGroup::kRows,
     .help = "count rows and tokens and estimate the time, write nothing",
     .reach = SettingReach::kFlagOnly},

    // The model
    {.name = "model",
     .field = &Settings::models,
     .group = SettingGroup::kModel,
     .value_name = "PATH|NAME=PATH",
     .help = "GGUF file, hf:OWNER/REPO/FILE.gguf or https://... (downloaded once); with NAME= for "
             "rows whose model is NAME (repeatable)",
     .default_words = "none",
     .alters_answers = true},
    {.name = "ctx",
     .field = &Settings::ctx_tokens,
     .group = SettingGroup::kModel,
     .value_name = "TOKENS",
     .help = "context memory of all rows together; a row gets at most what the model knows",
     .value_min = 0,
     .value_max = 1 << 30,
     .default_words = "chosen from the model and the free memory",
     .alters_answers = true},
    {.name = "kv-type",
     .field = &Settings::kv_type,
     .group = SettingGroup::kModel,
     .value_name = "TYPE",
     .help = "number format of the context memory",
     .choices = kKvTypes,
     .alters_answers = true},
    {.name = "flash-attn",
     .field = &Settings::flash_attn,
     .group = SettingGroup::kModel,
     .value_name = "WHEN",
     .help = "flash attention",
     .choices = kFlashAttention},
    {.name = "kv-cache",
     .field = &Settings::kv_cache,
     .group = SettingGroup::kModel,
     .value_name = "HOW",
     .help = "split: each row has its part of --ctx; faster where prompts begin differently",
     .choices = kKvCaches,
     .alters_answers = true},
    {.name = "share",
     .field = &Settings::share,
     .group = SettingGroup::kModel,
     .help = "a prompt's beginning that another row has computed is not computed again"},
    {.name = "device",
     .field = &Settings::device,
     .group = SettingGroup::kModel,
     .value_name = "NAME",
     .help = "device that runs the model, as `windrow inspect` names them",
     .default_words = "the best there is"},
    {.name = "gpu-layers",
     .field = &Settings::gpu_layers,
     .group = SettingGroup::kModel,
     .value_name = "N",
     .help = "layers of the model on the GPU",
     .value_min = -1,
     .value_max = 100'000,
     .default_words = "all"},
    {.name = "threads",
     .field = &Settings::threads,
     .group = SettingGroup::kModel,
     .value_name = "N",
     .help = "threads of the CPU part; more than there are cores is many times slower",
     .value_min = 0,
     .value_max = 512,
     .default_words = "one per core"},

    // Of a model
    {.name = "chat-template",
     .field = &Settings::chat_templates,
     .group = SettingGroup::kModel,
     .value_name = "FILE|NAME",
     .help = "chat template instead of the model's own: a Jinja file, or chatml",
     .default_words = "the model's own",
     .alters_answers = true},
    {.name = "lora",
     .field = &Settings::adapters,
     .group = SettingGroup::kModel,
     .value_name = "FILE[=SCALE]",
     .help = "LoRA adapter to lay over the model (repeatable)",
     .default_words = "none",
     .alters_answers = true},
    {.name = "pooling",
     .field = &Settings::poolings,
     .group = SettingGroup::kModel,
     .value_name = "HOW",
     .help = "how an embedding is made of its tokens: mean, cls, last; rank for rerankers",
     .default_words = "the model's own, else mean",
     .alters_answers = true},

    // Servers elsewhere
    {.name = "upstream",
     .field = &Settings::upstreams,
     .group = SettingGroup::kUpstream,
     .value_name = "URL",
     .help = "OpenAI-compatible server that answers, instead of a model here (repeatable)",
     .default_words = "none"},
    {.name = "model-alias",
     .field = &Settings::model_aliases,
     .group = SettingGroup::kUpstream,
     .value_name = "NAME=THEIRS",
     .help = "rows whose model is NAME ask the servers for THEIRS (repeatable)",
     .default_words = "none",
     .alters_answers = true},
    {.name = "api-key-env",
     .field = &Settings::api_key_env,
     .group = SettingGroup::kUpstream,
     .value_name = "VARIABLE",
     .help = "environment variable that holds the servers' key",
     .default_words = "no key"},
    {.name = "concurrency",
     .field = &Settings::concurrency,
     .group = SettingGroup::kUpstream,
     .value_name = "auto|N",
     .help = "requests in flight at each server; auto finds the number that pays"},
    {.name = "serial",
     .field = &Settings::serial,
     .group = SettingGroup::kUpstream,
     .help = "one request at a time to each server, for those that are not thread-safe"},
    {.name = "rpm",
     .field = &Settings::requests_per_minute,
     .group = SettingGroup::kUpstream,
     .value_name = "N",
     .help = "requests per minute to each server",
     .value_min = 0,
     .value_max = kCountMax,
     .default_words = "no limit"},
    {.name = "tpm",
     .field = &Settings::tokens_per_minute,
     .group = SettingGroup::kUpstream,
     .value_name = "N",
     .help = "tokens per minute to and from each server",
     .value_min = 0,
     .value_max = kCountMax,
     .default_words = "no limit"},
    {.name = "max-cost",
     .field = &Settings::cost_max,
     .group = SettingGroup::kUpstream,
     .value_name = "AMOUNT",
     .help = "stop, to be continued, before this run costs more; needs --prices",
     .default_words = "no limit",
     .reach = SettingReach::kFlagOnly},
    {.name = "prices",
     .field = &Settings::prices,
     .group = SettingGroup::kUpstream,
     .value_name = "FILE",
     .help = "what a million tokens of each model cost",
     .default_words = "none"},
    {.name = "request-timeout",
     .field = &Settings::request_timeout_s,
     .group = SettingGroup::kUpstream,
     .value_name = "SECONDS",
     .help = "how long one request may take, until the end of its answer",
     .value_min = 1,
     .value_max = 86'400},
    {.name = "max-attempts",
     .field = &Settings::attempts_max,
     .group = SettingGroup::kUpstream,
     .value_name = "N",
     .help = "how often a row is tried whose failure may pass (not counting refusals for load)",
     .value_min = 1,
     .value_max = 100},
    {.name = "batching",
     .field = &Settings::batching,
     .group = SettingGroup::kUpstream,
     .help = "rows with one text to embed go to servers together"},
    {.name = "max-batch-size",
     .field = &Settings::pack_rows_max,
     .group = SettingGroup::kUpstream,
     .value_name = "N",
     .help = "most texts to embed in one request",
     .value_min = 1,
     .value_max = 2048},
    {.name = "batch-window-ms",
     .field = &Settings::pack_window_ms,
     .group = SettingGroup::kUpstream,
     .value_name = "MS",
     .help = "how long a text to embed waits for others",
     .value_min = 0,
     .value_max = 60'000},
    {.name = "self-check",
     .field = &Settings::self_check,
     .group = SettingGroup::kUpstream,
     .help = "plant rows whose answers show whether a server mixes answers up"},

    // The answers
    {.name = "set",
     .field = &Settings::body_defaults,
     .group = SettingGroup::kAnswers,
     .value_name = "KEY=VALUE",
     .help = "body field for every row that does not have it: temperature=0 (repeatable)",
     .alters_answers = true},
    {.name = "max-tokens-default",
     .field = &Settings::output_tokens_default,
     .group = SettingGroup::kAnswers,
     .value_name = "TOKENS",
     .help = "longest answer of a row without max_tokens",
     .value_min = 1,
     .value_max = kTokensMax,
     .alters_answers = true},
    {.name = "keep-truncated",
     .field = &Settings::keep_truncated,
     .group = SettingGroup::kAnswers,
     .help = "an answer cut before its structure was whole is a result, not a failure",
     .alters_answers = true},
    {.name = "dedupe",
     .field = &Settings::dedupe,
     .group = SettingGroup::kAnswers,
     .help = "rows that ask the same and must get the same answer are asked once"},
    {.name = "cache",
     .field = &Settings::cache,
     .group = SettingGroup::kAnswers,
     .value_name = "FILE",
     .help = "keep answers of servers that repeat themselves, for this job and others",
     .default_words = "none"},

    // The batch
    {.name = "rows-max",
     .field = &Settings::rows_max,
     .group = SettingGroup::kBatch,
     .value_name = "N",
     .help = "rows computed together",
     .value_min = 1,
     .value_max = 256},
    {.name = "batch-tokens",
     .field = &Settings::batch_tokens,
     .group = SettingGroup::kBatch,
     .value_name = "TOKENS",
     .help = "most tokens of one forward pass",
     .value_min = 1,
     .value_max = 1'048'576},
    {.name = "step-ms",
     .field = &Settings::step_ms,
     .group = SettingGroup::kBatch,
     .value_name = "MS",
     .help = "time aimed at for one forward pass; long prompts are cut to fit",
     .value_min = 1,
     .value_max = 600'000},

    // The end
    {.name = "ordered",
     .field = &Settings::ordered,
     .group = SettingGroup::kEnd,
     .help = "bring the results into the order of the input when all are there"},
    {.name = "grace",
     .field = &Settings::grace_s,
     .group = SettingGroup::kEnd,
     .value_name = "SECONDS",
     .help = "how long running rows may go on after Ctrl-C",
     .value_min = 0,
     .value_max = 86'400},
    {.name = "report",
     .field = &Settings::report,
     .group = SettingGroup::kEnd,
     .value_name = "FILE.html",
     .help = "write a page with charts of the run",
     .default_words = "none",
     .reach = SettingReach::kFlagOnly},

    // What is said while it runs
    {.name = "summary",
     .field = &Settings::summary,
     .group = SettingGroup::kConsole,
     .help = "the table at the end"},
    {.name = "json",
     .field = &Settings::json,
     .group = SettingGroup::kConsole,
     .help = "events as JSON lines on standard output instead of the progress",
     .reach = SettingReach::kFlagOnly},
    {.name = "quiet",
     .field = &Settings::quiet,
     .group = SettingGroup::kConsole,
     .help = "say nothing but warnings and errors"},
    {.name = "color",
     .field = &Settings::color,
     .group = SettingGroup::kConsole,
     .value_name = "WHEN",
     .help = "colours (--no-color or the variable NO_COLOR: never)",
     .choices = kColor},
};

boost::json::value to_json(bool value) {
  return value;
}
boost::json::value to_json(int64_t value) {
  return value;
}
boost::json::value to_json(const std::string& value) {
  return boost::json::value(value);
}

boost::json::value to_json(const std::vector<std::string>& values) {
  boost::json::array array;
  for (const std::string& value : values)
    array.emplace_back(value);
  return array;
}

boost::json::value to_json(const BodyDefaults& defaults) {
  boost::json::object object;
  for (const auto& [key, value] : defaults)
    object.emplace(key, value);
  return object;
}

}  // namespace

std::string_view to_string(SettingGroup group) {
  switch (group) {
    case SettingGroup::kRows:
      return "Rows";
    case SettingGroup::kModel:
      return "Model";
    case SettingGroup::kUpstream:
      return "Servers elsewhere";
    case SettingGroup::kAnswers:
      return "Answers";
    case SettingGroup::kBatch:
      return "Batch";
    case SettingGroup::kEnd:
      return "End of the run";
    case SettingGroup::kConsole:
      return "Console";
  }
  return "";
}

std::span<const SettingRow> setting_rows() {
  return kRows;
}

const SettingRow* find_setting(std::string_view name) {
  for (const SettingRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string variable_of(const SettingRow& row) {
  if (row.reach == SettingReach::kFlagOnly) return "";
  std::string variable = "WINDROW_";
  for (const char letter : row.name) {
    variable +=
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return variable;
}

bool is_flag(const SettingRow& row) {
  return std::holds_alternative<bool Settings::*>(row.field);
}

bool is_list(const SettingRow& row) {
  return std::holds_alternative<std::vector<std::string> Settings::*>(row.field) ||
         is_body_defaults(row);
}

bool is_body_defaults(const SettingRow& row) {
  return std::holds_alternative<BodyDefaults Settings::*>(row.field);
}

boost::json::value value_of(const Settings& settings, const SettingRow& row) {
  return std::visit([&](auto member) { return to_json(settings.*member); }, row.field);
}

std::string default_text(const SettingRow& row) {
  if (!row.default_words.empty()) return std::string(row.default_words);
  const boost::json::value value = value_of(Settings{}, row);
  if (const bool* on = value.if_bool()) return *on ? "on" : "off";
  if (const int64_t* number = value.if_int64()) return fmt::format("{}", *number);
  if (const boost::json::string* text = value.if_string()) return std::string(*text);
  return "";
}

std::string accepted_text(const SettingRow& row) {
  if (is_flag(row)) return "true or false";
  if (is_body_defaults(row)) return "KEY=VALUE";
  if (std::holds_alternative<int64_t Settings::*>(row.field)) {
    if (row.value_max == kCountMax) {
      return fmt::format("a whole number from {} up", row.value_min);
    }
    return fmt::format("a whole number from {} to {}", row.value_min, row.value_max);
  }
  if (!row.choices.empty()) return fmt::format("one of {}", fmt::join(row.choices, ", "));
  return is_list(row) ? "a text or a list of texts" : "a text";
}

}  // namespace windrow::app
