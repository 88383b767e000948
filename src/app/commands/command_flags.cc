#include "app/commands/command_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "app/commands/table_flags.h"

namespace windrow::app {
namespace {

// A limit of a key stands in the key file as it is given here.
void add_limit(std::string_view limit, KeysAddCommand& command) {
  command.limits += fmt::format("{}{}", command.limits.empty() ? "" : " ", limit);
}

const std::array<Flag<RunCommand>, 5> kOwnRunFlags = {{
    {.name = "output",
     .short_name = "-o",
     .value_name = "FILE",
     .help = "where the results go: .jsonl; or .csv, .tsv, .json or .npy for a table, with the "
             "results beside it under .jsonl",
     .set = set_text<&RunCommand::output>},
    {.name = "sample",
     .value_name = "N",
     .help = "run only N rows, drawn at random; always the same ones",
     .set = set_number_in<&RunCommand::sample, int64_t{1}, int64_t{1} << 40>},
    {.name = "preview",
     .value_name = "N",
     .help = "print what the first N rows ask and what is answered; nothing is kept",
     .set = set_number_in<&RunCommand::preview, int64_t{1}, int64_t{100'000}>},
    {.name = "no-resume",
     .help = "with -o -: print the results when all rows are done, and keep nothing",
     .set = set_switch<&RunCommand::no_resume>},
    {.name = "format",
     .value_name = "FORMAT",
     .help = "of -o -: jsonl, csv, tsv, json (default: jsonl)",
     .set = set_text<&RunCommand::format>},
}};

const std::array<Flag<ExportCommand>, 5> kExportFlags = {{
    {.name = "output",
     .short_name = "-o",
     .value_name = "FILE",
     .help = "the table; its ending says which form: .csv, .tsv, .json, or .npy for embeddings",
     .set = set_text<&ExportCommand::output>},
    {.name = "input",
     .value_name = "FILE",
     .help = "the input of the job (default: the one in the job record)",
     .set = set_text<&ExportCommand::input>},
    {.name = "id",
     .value_name = "COLUMN",
     .help = "column of the input with the custom_ids (default: the one in the job record)",
     .set = [](std::string_view text, ExportCommand& command) -> Result<void> {
       command.id = text;
       return {};
     }},
    {.name = "delimiter",
     .value_name = "CHAR",
     .help = "between the values of a CSV input (default: found in its first line)",
     .set = set_text<&ExportCommand::delimiter>},
    {.name = "quiet",
     .help = "print only warnings and errors",
     .set = set_switch<&ExportCommand::quiet>},
}};

const std::array<Flag<ExecCommand>, 4> kExecFlags = {{
    {.name = "input",
     .value_name = "FILE",
     .help = "JSONL file with one input of the program a line (plain, .gz or .zst; - is standard "
             "input)",
     .set = set_text<&ExecCommand::input>},
    {.name = "output",
     .short_name = "-o",
     .value_name = "FILE",
     .help = "where the results go",
     .set = set_text<&ExecCommand::output>},
    {.name = "arg",
     .value_name = "JSON",
     .help = "without --input: the input of the one instance that runs (default: null)",
     .excludes = "input",
     .set = set_text<&ExecCommand::argument>},
    {.name = "trace",
     .value_name = "FILE",
     .help = "write calls, tokens and forward passes of all instances: .json for Chrome's trace "
             "viewer and Perfetto, .txt as text",
     .set = set_text<&ExecCommand::trace>},
}};

const std::array<Flag<RetryCommand>, 2> kOwnRetryFlags = {{
    {.name = "only",
     .value_name = "CODE,...",
     .help = "only rows with one of these error codes or statuses: 429,out_of_memory (default: "
             "all)",
     .set = set_text<&RetryCommand::only>},
    {.name = "input",
     .value_name = "FILE",
     .help = "input file with the rows (default: the one in the job record)",
     .set = set_text<&RetryCommand::input>},
}};

const std::array<Flag<StatusCommand>, 5> kStatusFlags = {{
    {.name = "watch",
     .help = "follow a running job until it ends: drawn anew every second on a terminal, else a "
             "line every ten",
     .set = set_switch<&StatusCommand::watch>},
    {.name = "prices",
     .value_name = "FILE",
     .help = "also what the answers cost: TOML or JSON, for each model input, cached and output in "
             "US dollars for a million tokens",
     .set = set_text<&StatusCommand::prices>},
    {.name = "histogram",
     .help = "draw the times also where the output is no terminal",
     .set = [](std::string_view, StatusCommand& command) -> Result<void> {
       command.histogram = true;
       return {};
     }},
    {.name = "no-histogram",
     .help = "draw nothing on a terminal either",
     .excludes = "histogram",
     .set = [](std::string_view, StatusCommand& command) -> Result<void> {
       command.histogram = false;
       return {};
     }},
    {.name = "json", .help = "as one JSON object", .set = set_switch<&StatusCommand::json>},
}};

const std::array<Flag<CompareCommand>, 3> kCompareFlags = {{
    {.name = "key",
     .value_name = "FILE",
     .help = "also how many answers are right: JSONL lines with custom_id and answer",
     .set = set_text<&CompareCommand::key>},
    {.name = "examples",
     .value_name = "N",
     .help = "rows shown whose answers differ (default: 5)",
     .set = set_number_in<&CompareCommand::examples, size_t{0}, size_t{1} << 20>},
    {.name = "json", .help = "as one JSON object", .set = set_switch<&CompareCommand::json>},
}};

const std::array<Flag<InspectCommand>, 2> kInspectFlags = {{
    {.name = "rpc",
     .value_name = "HOST:PORT",
     .help = "list the devices of this worker, too (repeatable)",
     .repeatable = true,
     .set = [](std::string_view text, InspectCommand& command) -> Result<void> {
       command.rpc_workers.emplace_back(text);
       return {};
     }},
    {.name = "json", .help = "as one JSON object", .set = set_switch<&InspectCommand::json>},
}};

const std::array<Flag<TokenizeCommand>, 7> kTokenizeFlags = {{
    {.name = "model",
     .value_name = "PATH",
     .help = "GGUF file with the tokenizer, hf:OWNER/REPO/FILE.gguf, https://... or sim:",
     .set = set_text<&TokenizeCommand::model>},
    {.name = "messages",
     .help = "the input is a JSON array of chat messages, or a body of /v1/chat/completions",
     .set = set_switch<&TokenizeCommand::messages>},
    {.name = "chat-template",
     .value_name = "FILE|NAME",
     .help = "chat template instead of the model's own: a Jinja file, or chatml",
     .set = set_text<&TokenizeCommand::chat_template>},
    {.name = "decode",
     .help = "the input is token ids; print their text",
     .set = set_switch<&TokenizeCommand::decode>},
    {.name = "add-special",
     .help = "with the tokens that the model wants around a text",
     .set = set_switch<&TokenizeCommand::add_special>},
    {.name = "count",
     .help = "print the number of tokens",
     .set = set_switch<&TokenizeCommand::count>},
    {.name = "json",
     .help = "print count, tokens and pieces as one JSON object",
     .excludes = "count",
     .set = set_switch<&TokenizeCommand::json>},
}};

const std::array<Flag<MemoryCommand>, 4> kMemoryFlags = {{
    {.name = "tag",
     .value_name = "TAG",
     .help = "retain: tag of every fact; recall, show: only memories with it, or untagged ones",
     .repeatable = true,
     .set = [](std::string_view text, MemoryCommand& command) -> Result<void> {
       command.tags.emplace_back(text);
       return {};
     }},
    {.name = "embed",
     .value_name = "PATH",
     .help = "model that embeds texts, in this process, beside the one of --model",
     .set = set_text<&MemoryCommand::embed>},
    {.name = "max-tokens",
     .value_name = "N",
     .help = "recall: tokens of all that is found (default: 4096)",
     .set = [](std::string_view text, MemoryCommand& command) -> Result<void> {
       return set_number(text, 1, 1'000'000, command.tokens_max);
     }},
    {.name = "verbose",
     .help = "consolidate: a line for each call of the model",
     .set = set_switch<&MemoryCommand::verbose>},
}};

const std::array<Flag<SessionsCommand>, 6> kSessionsFlags = {{
    {.name = "output",
     .short_name = "-o",
     .value_name = "FILE",
     .help = "export: the file to write; it is complete or not there",
     .set = set_text<&SessionsCommand::output>},
    {.name = "max-seq-len",
     .value_name = "N",
     .help = "export: samples with more tokens are cut to N (default: no limit)",
     .set = set_number_in<&SessionsCommand::max_seq_len, int64_t{1}, int64_t{1} << 40>},
    {.name = "records",
     .help = "export: instead of samples every turn's request and reply, as JSON",
     .excludes = "max-seq-len",
     .set = set_switch<&SessionsCommand::records>},
    {.name = "url",
     .value_name = "URL",
     .help = "the running server (default: http://127.0.0.1:8080)",
     .set = set_text<&SessionsCommand::url>},
    {.name = "api-key-env",
     .value_name = "NAME",
     .help = "environment variable that holds an API key of the server, or the session's own",
     .set = set_text<&SessionsCommand::api_key_env>},
    {.name = "json",
     .help = "list, show: the server's answer as JSON",
     .set = set_switch<&SessionsCommand::json>},
}};

const std::array<Flag<PsCommand>, 3> kPsFlags = {{
    {.name = "url",
     .value_name = "URL",
     .help = "the running server (default: http://127.0.0.1:8080)",
     .set = set_text<&PsCommand::url>},
    {.name = "api-key-env",
     .value_name = "NAME",
     .help = "environment variable that holds an API key of the server; an admin's key sees the "
             "requests of all keys",
     .set = set_text<&PsCommand::api_key_env>},
    {.name = "json", .help = "as one JSON object", .set = set_switch<&PsCommand::json>},
}};

const std::array<Flag<ChatCommand>, 3> kChatFlags = {{
    {.name = "url",
     .value_name = "URL",
     .help = "chat with a server that has OpenAI's API; --model is then its name of the model "
             "(default: the first one it lists)",
     .set = set_text<&ChatCommand::url>},
    {.name = "api-key-env",
     .value_name = "NAME",
     .help = "environment variable that holds an API key of that server",
     .set = set_text<&ChatCommand::api_key_env>},
    {.name = "system",
     .value_name = "TEXT",
     .help = "system message, before the conversation",
     .set = set_text<&ChatCommand::system>},
}};

const std::array<Flag<ConfigShowCommand>, 2> kConfigShowFlags = {{
    {.name = "changed",
     .help = "only the settings that differ from their defaults",
     .set = set_switch<&ConfigShowCommand::changed>},
    {.name = "json", .help = "as one JSON object", .set = set_switch<&ConfigShowCommand::json>},
}};

const std::array<Flag<KeysAddCommand>, 7> kKeysAddFlags = {{
    {.name = "rpm",
     .value_name = "N",
     .help = "requests per minute (default: no limit)",
     .set = [](std::string_view text, KeysAddCommand& command) -> Result<void> {
       add_limit(fmt::format("rpm={}", text), command);
       return {};
     }},
    {.name = "tpm",
     .value_name = "N",
     .help = "tokens per minute, of prompts and answers (default: no limit)",
     .set = [](std::string_view text, KeysAddCommand& command) -> Result<void> {
       add_limit(fmt::format("tpm={}", text), command);
       return {};
     }},
    {.name = "in-flight",
     .value_name = "N",
     .help = "requests at the same time (default: no limit)",
     .set = [](std::string_view text, KeysAddCommand& command) -> Result<void> {
       add_limit(fmt::format("in-flight={}", text), command);
       return {};
     }},
    {.name = "priority",
     .value_name = "WHICH",
     .help = "highest priority that the key may ask for: interactive, normal, batch (default: "
             "interactive)",
     .set = [](std::string_view text, KeysAddCommand& command) -> Result<void> {
       add_limit(fmt::format("priority={}", text), command);
       return {};
     }},
    {.name = "weight",
     .value_name = "N",
     .help = "share of capacity relative to other keys when the server is saturated, from 1 to "
             "1000 (default: 1)",
     .set = [](std::string_view text, KeysAddCommand& command) -> Result<void> {
       add_limit(fmt::format("weight={}", text), command);
       return {};
     }},
    {.name = "admin",
     .help = "the key sees requests of other keys in /v1/windrow/requests",
     .set = [](std::string_view, KeysAddCommand& command) -> Result<void> {
       add_limit("admin", command);
       return {};
     }},
    {.name = "json",
     .help = "print the new key with its limits, or the list, as JSON",
     .set = set_switch<&KeysAddCommand::json>},
}};

const std::array<Flag<KeysListCommand>, 1> kKeysListFlags = {{
    {.name = "json", .help = "print the list as JSON", .set = set_switch<&KeysListCommand::json>},
}};

}  // namespace

std::span<const Flag<RunCommand>> run_flags() {
  static const std::vector<Flag<RunCommand>> flags = with_table_flags<RunCommand>(kOwnRunFlags);
  return flags;
}

std::span<const Flag<ExportCommand>> export_flags() {
  return kExportFlags;
}

std::span<const Flag<ExecCommand>> exec_flags() {
  return kExecFlags;
}

std::span<const Flag<RetryCommand>> retry_flags() {
  static const std::vector<Flag<RetryCommand>> flags =
      with_table_flags<RetryCommand>(kOwnRetryFlags);
  return flags;
}

std::span<const Flag<StatusCommand>> status_flags() {
  return kStatusFlags;
}

std::span<const Flag<CompareCommand>> compare_flags() {
  return kCompareFlags;
}

std::span<const Flag<InspectCommand>> inspect_flags() {
  return kInspectFlags;
}

std::span<const Flag<TokenizeCommand>> tokenize_flags() {
  return kTokenizeFlags;
}

std::span<const Flag<MemoryCommand>> memory_flags() {
  return kMemoryFlags;
}

std::span<const Flag<SessionsCommand>> sessions_flags() {
  return kSessionsFlags;
}

std::span<const Flag<PsCommand>> ps_flags() {
  return kPsFlags;
}

std::span<const Flag<ChatCommand>> chat_flags() {
  return kChatFlags;
}

bool is_of_chat(const SettingRow& row) {
  if (row.name == "set" || row.name == "max-tokens-default") return true;
  const bool of_all = row.scope == SettingScope::kAll && row.name != "json";
  return of_all && (row.group == SettingGroup::kModel || row.group == SettingGroup::kConsole);
}

bool is_of_memory(const SettingRow& row) {
  if (row.name.starts_with("memory-")) return true;
  const bool of_all = row.scope == SettingScope::kAll;
  return of_all && (row.group == SettingGroup::kModel || row.group == SettingGroup::kUpstream ||
                    row.group == SettingGroup::kBatch || row.group == SettingGroup::kConsole);
}

bool is_of_doctor(const SettingRow& row) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"model", "ctx", "kv-type", "device", "gpu-layers", "rows-max", "listen", "api-keys",
       "insecure-no-keys", "data-dir", "config", "json"});
  return std::ranges::find(kNames, row.name) != kNames.end();
}

std::span<const Flag<ConfigShowCommand>> config_show_flags() {
  return kConfigShowFlags;
}

std::span<const Flag<KeysAddCommand>> keys_add_flags() {
  return kKeysAddFlags;
}

std::span<const Flag<KeysListCommand>> keys_list_flags() {
  return kKeysListFlags;
}

}  // namespace windrow::app
