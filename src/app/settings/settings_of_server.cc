// The rows of the table about `windrow serve` itself: port, keys, limits, files.
#include <array>

#include "app/settings/settings.h"

namespace windrow::app {
namespace {

// Fills in what these rows have in common: their group, and the only command that takes them.
template <size_t kCount>
constexpr auto only_serve(std::array<SettingRow, kCount> rows) {
  for (SettingRow& row : rows) {
    row.group = SettingGroup::kServer;
    row.scope = SettingScope::kServe;
  }
  return rows;
}

constexpr auto kServerRows = only_serve(std::to_array<SettingRow>({
    {.name = "listen",
     .field = &Settings::listen,
     .value_name = "HOST:PORT",
     .help = "address to listen on, or a port alone; 0.0.0.0 is every interface, port 0 any free "
             "port",
     .common = true},
    {.name = "data-dir",
     .field = &Settings::data_dir,
     .value_name = "FOLDER",
     .help = "folder for uploaded files and batches; created if missing; one server at a time",
     .default_words = "none",
     .common = true},
    {.name = "max-batches",
     .field = &Settings::batches_max,
     .value_name = "N",
     .help = "batches that run at the same time; others are queued",
     .value_min = 1,
     .value_max = 64},
    {.name = "max-batch-rows",
     .field = &Settings::batch_rows_max,
     .value_name = "N",
     .help = "maximum requests in one batch",
     .value_min = 1,
     .value_max = 10'000'000},
    {.name = "mixed-models",
     .field = &Settings::mixed_models,
     .help = "allow requests for different models in one batch"},
    {.name = "max-file-mb",
     .field = &Settings::file_mb_max,
     .value_name = "MB",
     .help = "maximum size of a file uploaded to /v1/files",
     .value_min = 1,
     .value_max = 1'000'000},
    {.name = "max-files-mb",
     .field = &Settings::files_mb_max,
     .value_name = "MB",
     .help = "maximum size of all files together; 0: no limit",
     .value_min = 0,
     .value_max = 1'000'000'000},
    {.name = "memory-model",
     .field = &Settings::memory_model,
     .value_name = "NAME",
     .help = "model that extracts and consolidates what memory banks are told (needs --data-dir)",
     .default_words = "the only one that answers chats"},
    {.name = "memory-embed",
     .field = &Settings::memory_embed,
     .value_name = "NAME",
     .help = "model that embeds the texts of memory banks",
     .default_words = "the only one that embeds texts"},
    {.name = "memory-set",
     .field = &Settings::memory_config,
     .value_name = "KEY=VALUE",
     .help = "default of a bank's configuration, such as consolidation_llm_parallelism=16 "
             "(repeatable; docs/memory.md lists them)",
     .default_words = "none"},
    {.name = "api-keys",
     .field = &Settings::api_keys,
     .value_name = "FILE",
     .help = "API keys, as `windrow keys add` writes them; read again on SIGHUP",
     .default_words = "none; requests need no key",
     .common = true},
    {.name = "insecure-no-keys",
     .field = &Settings::insecure_no_keys,
     .help = "serve without API keys on an address that other machines can reach",
     .reach = SettingReach::kFlagOnly},
    {.name = "tls-cert",
     .field = &Settings::tls_cert,
     .value_name = "FILE",
     .help = "PEM certificate including its chain; serves HTTPS; needs --tls-key",
     .default_words = "none"},
    {.name = "tls-key",
     .field = &Settings::tls_key,
     .value_name = "FILE",
     .help = "PEM private key of --tls-cert",
     .default_words = "none"},
    {.name = "cors-origin",
     .field = &Settings::cors_origins,
     .value_name = "ORIGIN",
     .help =
         "origin of web pages that may call the API: https://app.example, * for all (repeatable)",
     .default_words = "none"},
    {.name = "max-body-mb",
     .field = &Settings::body_mb_max,
     .value_name = "MB",
     .help = "maximum size of a request body",
     .value_min = 1,
     .value_max = 1024},
    {.name = "keep-items-mb",
     .field = &Settings::keep_items_mb,
     .value_name = "MB",
     .help = "memory for recent /v1/responses and their items; 0 keeps none",
     .value_min = 0,
     .value_max = 1'048'576},
    {.name = "max-queue",
     .field = &Settings::queue_max,
     .value_name = "N",
     .help = "maximum queued requests per model; further ones get 429",
     .value_min = 1,
     .value_max = 1'000'000},
    {.name = "refusal-patience",
     .field = &Settings::refusal_patience_s,
     .value_name = "SECONDS",
     .help = "how long a request is retried when upstream servers refuse it (429, 503)",
     .value_min = 0,
     .value_max = 86'400},
    {.name = "max-linger-us",
     .field = &Settings::linger_us_max,
     .value_name = "US",
     .help = "how long a text to embed waits for others when the engine is idle",
     .value_min = 0,
     .value_max = 2000},
    {.name = "metrics-open",
     .field = &Settings::metrics_open,
     .help = "serve /metrics without an API key"},
    {.name = "log",
     .field = &Settings::log,
     .value_name = "FILE",
     .help = "request log, one JSON line per request: a file, - for standard output, or none"},
    {.name = "log-prompts",
     .field = &Settings::log_prompts,
     .help = "write prompts and answers to the request log too"},
}));

}  // namespace

std::span<const SettingRow> settings_of_server() {
  return kServerRows;
}

}  // namespace windrow::app
