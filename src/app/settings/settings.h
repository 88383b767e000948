// Settings: everything about a job or a server that can be configured, and the table that says how
// each setting is named, written, checked and explained. Command line, configuration files,
// environment variables, `windrow config show`, help, manual page and shell completions all come
// from the table.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace windrow::app {

// Body field -> the value of rows that do not have the field.
using BodyDefaults = std::map<std::string, boost::json::value>;

struct Settings {
  // Which rows
  int64_t limit = 0;  // 0: all rows; a flag of 0 is refused, as it reads like none
  bool strict = false;
  bool retry_failed = false;
  bool fresh = false;
  bool dry_run = false;
  std::string failures_max;  // a number or "all"; empty: only a mistake of the job (run_options.h)

  // The model
  std::vector<std::string> models;  // PATH or NAME=PATH
  int64_t ctx_tokens = 0;           // of all rows together; 0: the engine chooses
  std::string kv_type = "f16";
  std::string flash_attn = "auto";
  std::string kv_cache = "unified";
  bool share = true;
  std::string device;       // names with commas, or none; empty: every GPU
  int64_t gpu_layers = -1;  // -1: all
  std::string split_mode = "layer";
  std::string tensor_split;              // shares with commas; empty: by the free memory
  std::vector<std::string> rpc_workers;  // HOST:PORT
  int64_t threads = 0;                   // 0: one per core

  // Models that a server loads and unloads (fleet_settings.h)
  std::vector<std::string> load;         // names; empty: as many as fit
  std::string memory;                    // empty: most of what is free
  std::vector<std::string> keep_loaded;  // names
  int64_t unload_idle_s = 0;             // 0: never for that
  int64_t load_wait_s = 120;

  // Of one model: VALUE or NAME=VALUE (model_settings.h)
  std::vector<std::string> chat_templates;
  std::vector<std::string> adapters;
  std::vector<std::string> poolings;

  // Upstream servers instead of models in this process (upstream_settings.h)
  std::vector<std::string> upstreams;      // URLs
  std::vector<std::string> model_aliases;  // NAME=THEIRS
  std::vector<std::string> tokenizers;     // NAME=PATH
  std::string api_key_env;                 // empty: none
  std::string concurrency = "auto";        // or a number
  bool serial = false;
  int64_t requests_per_minute = 0;  // of each server; 0: no limit
  int64_t tokens_per_minute = 0;
  std::string cost_max;  // empty: no limit
  std::string prices;    // a file; empty: none
  int64_t request_timeout_s = 600;
  int64_t attempts_max = 3;
  bool batching = true;  // texts to embed share requests
  int64_t pack_rows_max = 256;
  int64_t pack_window_ms = 0;
  bool self_check = false;
  int64_t reply_memory_mb = 0;  // 0: by the machine's memory (fleet_settings.h)

  // `windrow serve`
  std::string listen = "127.0.0.1:8080";
  std::string data_dir;  // empty: none
  std::string api_keys;  // a file; empty: none
  bool insecure_no_keys = false;
  std::string tls_cert;  // files; empty: none
  std::string tls_key;
  std::vector<std::string> cors_origins;
  int64_t batches_max = 2;  // running at the same time
  int64_t batch_rows_max = 50'000;
  int64_t file_mb_max = 512;
  int64_t files_mb_max = 0;  // all files together; 0: no limit
  bool mixed_models = false;
  int64_t body_mb_max = 32;
  int64_t keep_items_mb = 256;
  int64_t queue_max = 4096;
  int64_t refusal_patience_s = 10;
  int64_t linger_us_max = 500;
  bool metrics_open = false;

  // Memory banks, of a server with --data-dir and of `windrow memory`
  std::string memory_model;                // empty: the only one that answers chats
  std::string memory_embed;                // empty: the only one that embeds texts
  std::vector<std::string> memory_config;  // KEY=VALUE: defaults of the configuration of banks

  // Sessions (session_settings.h)
  std::string session_upstream = "auto";
  std::string session_history = "linear";
  std::string session_match = "strict";
  int64_t session_attempts_max = 1;
  std::string session_orphans = "stop";
  std::string session_rows = "first";
  bool session_new_rows = false;
  bool session_routed_experts = false;
  bool session_indexer_topk = false;
  int64_t session_moe_layers = 0;  // 0: unknown
  int64_t sessions_max = 10'000;
  int64_t session_idle_s = 3600;
  int64_t session_mb_max = 4096;
  int64_t sessions_mb_max = 0;  // all together; 0: half of the machine's memory
  int64_t session_turns_max = 1024;
  int64_t session_body_mb = 16;
  int64_t session_reply_mb = 512;

  std::string log = "none";  // "-": standard output; else a file
  bool log_prompts = false;

  // Programs (program_settings.h)
  int64_t program_memory_mb = 64;
  int64_t program_instructions = 10'000'000;
  int64_t program_seconds = 600;
  int64_t program_tokens = 1'000'000;
  int64_t program_contexts = 1024;
  int64_t program_branches = 256;
  int64_t programs_in_flight = 64;
  std::string program_model;        // empty: the only one
  std::string program_embed_model;  // empty: the only one that embeds texts

  // The answers
  BodyDefaults body_defaults;
  std::string unknown_fields = "refuse";
  int64_t output_tokens_default = 4096;
  int64_t call_reasoning_percent = 50;
  bool keep_truncated = false;
  std::string schema_unknown = "annotate";
  bool dedupe = true;
  std::string cache;  // a file; empty: none

  // The batch
  int64_t rows_max = 32;
  int64_t batch_tokens = 2048;
  int64_t step_ms = 0;  // 0: step_target_ms says

  // The end
  bool ordered = false;
  int64_t grace_s = 10;
  std::string report;  // empty: none

  // Console
  std::string config;  // a file instead of the usual ones; empty: those
  bool summary = true;
  bool json = false;
  bool quiet = false;
  std::string color = "auto";
};

using SettingField = std::variant<bool Settings::*, int64_t Settings::*, std::string Settings::*,
                                  std::vector<std::string> Settings::*, BodyDefaults Settings::*>;

enum class SettingGroup : uint8_t {
  kRows,
  kModel,
  kUpstream,
  kServer,
  kSessions,
  kPrograms,
  kAnswers,
  kBatch,
  kEnd,
  kConsole
};

std::string_view to_string(SettingGroup group);

// Where a setting may be given. Settings for a single run are refused in files and variables: a
// forgotten `fresh = true` would start every job over.
enum class SettingReach : uint8_t { kEverywhere, kFlagOnly };

// The commands that differ in what they take: `run` (and `retry` with it), `serve`, and `exec`.
enum class SettingsOf : uint8_t { kRun, kServe, kExec };

// Which of them takes a setting as a flag. Files and variables are for all and may hold any.
enum class SettingScope : uint8_t {
  kAll,
  kRequests,  // `run` and `serve`
  kJobs,      // `run` and `exec`
  kRun,
  kServe,
  kExec,
};

struct SettingRow {
  std::string_view name;  // "rows-max": --rows-max, WINDROW_ROWS_MAX and the key rows-max of a file
  SettingField field;
  SettingGroup group = SettingGroup::kRows;
  std::string_view value_name;     // in the help: "N"; empty for a switch
  std::string_view help;           // one line, lower case, no full stop
  std::string_view help_off = {};  // help of --no-NAME, for a switch that is on by default
  int64_t value_min = 0;           // limits of a number
  int64_t value_max = 0;
  std::string_view word_of_min = {};          // stands for value_min, which reads badly: "all"
  std::span<const std::string_view> choices;  // the texts it accepts; empty: any text
  std::string_view default_words;             // of the default, where its value says nothing
  SettingReach reach = SettingReach::kEverywhere;

  SettingScope scope = SettingScope::kAll;

  // Most users want it: the help has it before the others.
  bool common = false;

  // A resumed job refuses a change of it.
  bool alters_answers = false;
};

// In the order of the help.
std::span<const SettingRow> setting_rows();

// Parts of it that have a file of their own: models and upstream servers; a server; its sessions;
// programs.
std::span<const SettingRow> settings_of_models();
std::span<const SettingRow> settings_of_server();
std::span<const SettingRow> settings_of_sessions();
std::span<const SettingRow> settings_of_programs();

// nullptr when there is none.
const SettingRow* find_setting(std::string_view name);

bool takes(SettingsOf command, const SettingRow& row);

// How long one forward pass should take: as configured, else long for the throughput of a job and
// short for the latency of a server.
int64_t step_target_ms(SettingsOf command, const Settings& settings);

// "WINDROW_ROWS_MAX"; empty for what is given by flag only.
std::string variable_of(const SettingRow& row);

bool is_flag(const SettingRow& row);           // a switch, without a value
bool is_list(const SettingRow& row);           // may be given several times; each adds one
bool is_body_defaults(const SettingRow& row);  // key=value

// The value as `config show` prints it and as it would be written in a file.
boost::json::value value_of(const Settings& settings, const SettingRow& row);

// The default in words, for the help and the manual: "2000", "off", "one per core"; empty when
// there is nothing to say.
std::string default_text(const SettingRow& row);

// The values that the row accepts: "a whole number from 1 to 256", "one of auto, on, off".
std::string accepted_text(const SettingRow& row);

}  // namespace windrow::app
