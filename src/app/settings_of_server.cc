// The settings of `windrow serve` itself: its port, its keys, its limits, its files.
#include <array>

#include "app/settings_table.h"

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
     .help = "where to listen; 0.0.0.0 is all of this machine, port 0 any that is free"},
    {.name = "data-dir",
     .field = &Settings::data_dir,
     .value_name = "FOLDER",
     .help = "what the server keeps; made if it is not there, and of one server at a time",
     .default_words = "none"},
    {.name = "max-batches",
     .field = &Settings::batches_max,
     .value_name = "N",
     .help = "batches of /v1/batches that run at the same time; others wait in their order",
     .value_min = 1,
     .value_max = 64},
    {.name = "max-batch-rows",
     .field = &Settings::batch_rows_max,
     .value_name = "N",
     .help = "requests that one batch may have",
     .value_min = 1,
     .value_max = 10'000'000},
    {.name = "mixed-models",
     .field = &Settings::mixed_models,
     .help = "the requests of one batch may name several models"},
    {.name = "max-file-mb",
     .field = &Settings::file_mb_max,
     .value_name = "MB",
     .help = "largest file of /v1/files",
     .value_min = 1,
     .value_max = 1'000'000},
    {.name = "max-files-mb",
     .field = &Settings::files_mb_max,
     .value_name = "MB",
     .help = "what all files may take together; 0: no limit",
     .value_min = 0,
     .value_max = 1'000'000'000},
    {.name = "api-keys",
     .field = &Settings::api_keys,
     .value_name = "FILE",
     .help = "who may ask, as `windrow keys add` writes it; read again on SIGHUP",
     .default_words = "nobody needs a key"},
    {.name = "insecure-no-keys",
     .field = &Settings::insecure_no_keys,
     .help = "let everybody ask who reaches --listen, also from other machines",
     .reach = SettingReach::kFlagOnly},
    {.name = "tls-cert",
     .field = &Settings::tls_cert,
     .value_name = "FILE",
     .help = "certificate in PEM, with those it rests on: HTTPS instead of HTTP; needs --tls-key",
     .default_words = "none"},
    {.name = "tls-key",
     .field = &Settings::tls_key,
     .value_name = "FILE",
     .help = "private key of --tls-cert in PEM",
     .default_words = "none"},
    {.name = "cors-origin",
     .field = &Settings::cors_origins,
     .value_name = "ORIGIN",
     .help = "web pages that may ask from a browser: https://app.example, * for all (repeatable)",
     .default_words = "none"},
    {.name = "max-body-mb",
     .field = &Settings::body_mb_max,
     .value_name = "MB",
     .help = "largest body of a request",
     .value_min = 1,
     .value_max = 1024},
    {.name = "keep-items-mb",
     .field = &Settings::keep_items_mb,
     .value_name = "MB",
     .help = "memory for recent responses of /v1/responses and their items; 0 keeps none",
     .value_min = 0,
     .value_max = 1'048'576},
    {.name = "max-queue",
     .field = &Settings::queue_max,
     .value_name = "N",
     .help = "requests that may wait for each model; more are answered 429",
     .value_min = 1,
     .value_max = 1'000'000},
    {.name = "refusal-patience",
     .field = &Settings::refusal_patience_s,
     .value_name = "SECONDS",
     .help = "how long a request is tried again that servers elsewhere refuse (429, 503)",
     .value_min = 0,
     .value_max = 86'400},
    {.name = "max-linger-us",
     .field = &Settings::linger_us_max,
     .value_name = "US",
     .help = "how long a first text to embed, while nothing else runs, waits for others",
     .value_min = 0,
     .value_max = 2000},
    {.name = "metrics-open", .field = &Settings::metrics_open, .help = "/metrics needs no key"},
    {.name = "log",
     .field = &Settings::log,
     .value_name = "FILE",
     .help = "a line of JSON for each request: a file, - for standard output, or none"},
    {.name = "log-prompts",
     .field = &Settings::log_prompts,
     .help = "prompts and answers go into the log too"},
}));

}  // namespace

std::span<const SettingRow> settings_of_server() {
  return kServerRows;
}

}  // namespace windrow::app
