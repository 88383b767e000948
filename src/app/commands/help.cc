#include "app/commands/command_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/commands/flag_table.h"
#include "app/commands/probe_options.h"
#include "app/commands/rpc_worker_options.h"
#include "app/commands/sim_upstream_options.h"
#include "app/settings/settings.h"

namespace windrow::app {
namespace {

constexpr size_t kHelpColumn = 28;
constexpr size_t kWidth = 96;

// "  --rows-max N              rows computed together (default: 16)", words wrapped.
std::string help_line(std::string_view left, std::string text) {
  std::string result = fmt::format("  {}", left);
  result += result.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                            : std::string(kHelpColumn - result.size(), ' ');
  const size_t room = kWidth - kHelpColumn;
  while (text.size() > room) {
    size_t cut = text.rfind(' ', room);
    if (cut == std::string::npos || cut == 0) cut = room;
    result += text.substr(0, cut) + "\n" + std::string(kHelpColumn, ' ');
    text.erase(0, text.find_first_not_of(' ', cut));
  }
  return result + text + "\n";
}

std::string setting_line(const SettingRow& row) {
  const bool on_by_default = is_flag(row) && value_of(Settings{}, row) == boost::json::value(true);
  std::string flag = fmt::format("--{}{}", on_by_default ? "no-" : "", row.name);
  if (!row.value_name.empty()) flag += fmt::format(" {}", row.value_name);
  std::string text(on_by_default ? row.help_off : row.help);
  if (!row.choices.empty()) {
    text += ": ";
    for (const std::string_view choice : row.choices) {
      text += fmt::format("{}{}", choice == row.choices.front() ? "" : ", ", choice);
    }
  }
  const std::string by_default = default_text(row);
  if (!is_flag(row) && !by_default.empty() && by_default != "none")
    text += fmt::format(" (default: {})", by_default);
  return help_line(flag, std::move(text));
}

// The settings that a command takes, by their groups.
std::string settings_help(SettingsOf command) {
  std::string text;
  std::optional<SettingGroup> group;
  for (const SettingRow& row : setting_rows()) {
    if (!takes(command, row)) continue;
    if (row.group != group) {
      group = row.group;
      text += fmt::format("\n{}\n", to_string(*group));
    }
    text += setting_line(row);
  }
  return text;
}

// The flags of a table, by their groups.
template <class Target>
std::string table_help(std::span<const Flag<Target>> flags) {
  std::string text;
  std::string_view group;
  for (const Flag<Target>& flag : flags) {
    if (flag.group != group) {
      group = flag.group;
      text += fmt::format("\n{}\n", group);
    }
    text +=
        help_line(fmt::format("{}{}--{}{}{}", flag.short_name, flag.short_name.empty() ? "" : ", ",
                              flag.name, flag.value_name.empty() ? "" : " ", flag.value_name),
                  std::string(flag.help));
  }
  return text;
}

}  // namespace

std::string help_text() {
  std::string text = "windrow runs many LLM requests as few forward passes.\n\n";
  text += help_line("windrow run INPUT -o OUTPUT --model MODEL.gguf",
                    "answer a JSONL file of requests");
  text += help_line("windrow exec PROGRAM.lua --input INPUT -o OUTPUT",
                    "run a program for each row: contexts that fork, calls that share passes");
  text += help_line("windrow retry RESULTS.errors.jsonl", "run the rows that failed once more");
  text += help_line("windrow export RESULTS.jsonl -o TABLE.csv",
                    "the answers of a job as a table, beside the records of its input");
  text +=
      help_line("windrow status RESULTS.jsonl", "how a job stands: rows, failures, tokens, times");
  text += help_line("windrow compare A.jsonl B.jsonl",
                    "two results: rows, answers, failures, tokens, latency");
  text += help_line("windrow serve --model MODEL.gguf", "answer OpenAI's API over HTTP");
  text += help_line("windrow inspect MODEL.gguf", "what a model file holds");
  text += help_line("windrow doctor", "what of this machine does not work, and what to do");
  text += help_line("windrow tokenize --model MODEL.gguf FILE", "the tokens of a text or a chat");
  text += help_line("windrow memory consolidate BANK", "a memory bank in a file, without a server");
  text +=
      help_line("windrow sessions list", "the sessions of a running server; show or export one");
  text += help_line("windrow config show", "every setting, its value and where that comes from");
  text += help_line("windrow keys add FILE NAME", "create an API key for the server");
  text += help_line("windrow probe --upstream URL", "find the best concurrency for a server");
  text +=
      help_line("windrow sim-upstream", "a simulated server for rehearsals, with faults on demand");
  text += help_line("windrow rpc-worker", "lend this machine's devices to another one");
  text += help_line("windrow --version", "which Windrow and which libllama");
  text += "\n`windrow COMMAND --help` explains a command and its flags.\n";
  return text;
}

std::string run_help_text() {
  std::string text =
      "windrow run INPUT -o OUTPUT --model MODEL.gguf [flags]\n\n"
      "Answers the requests of INPUT (OpenAI Batch lines; plain, .gz or .zst; - is standard "
      "input)\n"
      "and writes one line for each to OUTPUT, failures to OUTPUT with .errors.jsonl. The same\n"
      "command continues what was interrupted. With --prompt or --embed INPUT is a table (CSV, "
      "TSV,\n"
      "JSON, JSONL or lines of text), of which each record becomes a request.\n";
  text += "\n" + table_help(run_flags());
  text += settings_help(SettingsOf::kRun);
  text +=
      "\nMost flags may also stand in windrow.toml (rows-max = 32) or in a variable\n"
      "(WINDROW_ROWS_MAX=32); `windrow config show` says which one counts. --no-FLAG turns off "
      "what\n"
      "a file turned on.\n"
      "\nExit codes: 0 all rows succeeded, 1 some failed, 2 the command or its input or output is\n"
      "unusable, 3 the model or server is unusable, 4 --max-cost is reached, 130 interrupted.\n";
  return text;
}

std::string exec_help_text() {
  std::string text =
      "windrow exec PROGRAM --input INPUT -o OUTPUT --model MODEL.gguf [flags]\n"
      "windrow exec PROGRAM [--arg JSON] --model MODEL.gguf [flags]\n\n"
      "Runs a Lua program once for each line of INPUT ({\"custom_id\": \"a\", \"input\": ...}), "
      "many at\n"
      "the same time, and writes one line for each to OUTPUT, failures to OUTPUT with\n"
      ".errors.jsonl. The same command continues what was interrupted. Without --input it runs "
      "once,\n"
      "and its result is printed as JSON. PROGRAM is a file, or the name of a program that "
      "Windrow\n"
      "ships. docs/programs.md describes programs.\n";
  text += "\n" + table_help(exec_flags());
  text += settings_help(SettingsOf::kExec);
  text +=
      "\nMost flags may also stand in windrow.toml (program-seconds = 60) or in a variable\n"
      "(WINDROW_PROGRAM_SECONDS=60); `windrow config show` says which one counts.\n"
      "\nExit codes: 0 all rows succeeded, 1 some failed, 2 the command, the program or its input "
      "or\n"
      "output is unusable, 3 the model or server is unusable, 4 --max-cost is reached, 130\n"
      "interrupted.\n";
  return text;
}

std::string retry_help_text() {
  return "windrow retry RESULTS.errors.jsonl [--only CODE,...] [--input FILE] [flags of windrow "
         "run]\n\n"
         "Runs the rows of a job that failed, and no others. Answers are appended to the results, "
         "and\n"
         "the errors file is rewritten without what succeeded when the run ends; until then no "
         "line "
         "of\n"
         "it is lost, whatever happens. The rows are read from the input of the job, as they are "
         "now.\n\n" +
         table_help(retry_flags()) +
         "\nThe flags of `windrow run` have the same meaning here, but for --fresh, --retry-failed "
         "and\n"
         "--dry-run, which a retry does not take. Give those that the job was run with.\n";
}

std::string export_help_text() {
  return "windrow export RESULTS.jsonl -o TABLE.csv|.tsv|.json|.npy [--input FILE] [--id "
         "COLUMN]\n\n"
         "Writes the answers of a job as a table: the records of its input in their order, with "
         "their\n"
         "columns, and behind them answer, the members of answers that follow a schema, "
         "finish_reason\n"
         "and error. The job may be finished, interrupted or running; records without an outcome "
         "are\n"
         "left out. .npy holds embeddings as float32, a row for each record.\n\n" +
         table_help(export_flags());
}

std::string serve_help_text() {
  std::string text =
      "windrow serve --model MODEL.gguf [flags]\n\n"
      "Answers OpenAI's API over HTTP, many requests in few forward passes, until Ctrl-C:\n"
      "/v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings, /v1/rerank, "
      "/v1/models,\n"
      "Anthropic's /v1/messages, and with --data-dir /v1/files and /v1/batches. docs/api.md "
      "describes\n"
      "it, docs/operating.md how to run it.\n";
  text += settings_help(SettingsOf::kServe);
  text +=
      "\nMost flags may also stand in windrow.toml (listen = \"127.0.0.1:9000\") or in a variable\n"
      "(WINDROW_LISTEN); `windrow config show` says which one counts.\n"
      "\nThe first Ctrl-C or SIGTERM lets requests finish within --grace, the second ends them, a\n"
      "third ends the process. SIGHUP reads --api-keys again.\n"
      "\nExit codes: 0 stopped as it was asked to, 2 the command, its files or its address are\n"
      "unusable, 3 the model or server is unusable, 130 requests were cut off by a second "
      "Ctrl-C.\n";
  return text;
}

std::string status_help_text() {
  return "windrow status RESULTS.jsonl [--watch] [--json] [--prices FILE] [--histogram]\n\n"
         "Says how a job stands: whether it is finished or a process is at work on it, rows, "
         "failures\n"
         "with an example of each kind, attempts, tokens, and how long rows took. Of a running job "
         "also\n"
         "total, per cent, rate and time left, which --watch follows until the job ends.\n\n" +
         table_help(status_flags()) +
         "\nExit codes: 0 the status was printed, 2 there is no such job or it cannot be read, "
         "130 --watch\n"
         "was interrupted; the job goes on.\n";
}

std::string compare_help_text() {
  return "windrow compare FIRST.jsonl SECOND.jsonl [--key FILE] [--examples N] [--json]\n\n"
         "Compares the results of two jobs, or other OpenAI Batch output, row by row (by "
         "custom_id):\n"
         "rows in only one of them, answers that differ, failures, finish reasons, tokens and "
         "latency.\n"
         "Failures are read from the errors files beside them.\n\n" +
         table_help(compare_flags()) +
         "\nExit codes: 0 no row differs (tokens and latency do not count), 1 some do, 2 the files "
         "cannot\n"
         "be compared.\n";
}

std::string inspect_help_text() {
  return "windrow inspect MODEL.gguf [--rpc HOST:PORT]... [--json]\n\n"
         "Says what a model file holds and how Windrow would run it. hf:OWNER/REPO/FILE.gguf and\n"
         "https://... are downloaded first, once.\n\n" +
         table_help(inspect_flags());
}

std::string doctor_help_text() {
  std::string text =
      "windrow doctor [--model MODEL.gguf] [flags]\n\n"
      "Checks whether this machine can answer requests and run a server with the settings in "
      "force:\n"
      "libllama and its version, the processor and its plug-in, devices, memory, models, the "
      "address,\n"
      "--data-dir, --api-keys and open files. Says of each what was found and what to do, and "
      "changes\n"
      "nothing. Of a service, run it as its user in its folder.\n";
  std::optional<SettingGroup> group;
  for (const SettingRow& row : setting_rows()) {
    if (!is_of_doctor(row)) continue;
    if (row.group != group) {
      group = row.group;
      text += fmt::format("\n{}\n", to_string(*group));
    }
    text += setting_line(row);
  }
  text +=
      "\nExit codes: 0 everything works, perhaps with warnings, 1 something does not, 2 the "
      "settings\n"
      "cannot be read.\n";
  return text;
}

std::string memory_help_text() {
  std::string text =
      "windrow memory retain BANK [FILE] [flags]\n"
      "windrow memory recall BANK \"QUERY\" [flags]\n"
      "windrow memory consolidate BANK --model MODEL.gguf [flags]\n"
      "windrow memory show BANK [flags]\n\n"
      "A memory bank in a file, without a server. `retain` adds facts, one a line: a text, or an\n"
      "object as POST .../memories takes it ({\"content\": ..., \"tags\": [...]}); `consolidate` "
      "turns\n"
      "facts into observations, `recall` finds memories, `show` prints the observations and how\n"
      "often each was told. A consolidation that was interrupted goes on with the same command; a\n"
      "retain says from which line on. docs/memory.md describes banks.\n\n";
  text += table_help(memory_flags());
  std::optional<SettingGroup> group;
  for (const SettingRow& row : setting_rows()) {
    if (!is_of_memory(row)) continue;
    if (row.group != group) {
      group = row.group;
      text += fmt::format("\n{}\n", to_string(*group));
    }
    text += setting_line(row);
  }
  text +=
      "\nExit codes: 0 success, 1 some facts could not be consolidated, 2 the command, the bank "
      "or\n"
      "the input is unusable, 3 the model or server is unusable, 130 interrupted.\n";
  return text;
}

std::string sessions_help_text() {
  return "windrow sessions list [--json] [--url URL]\n"
         "windrow sessions show ID [--json] [--url URL]\n"
         "windrow sessions export ID -o FILE [--max-seq-len N | --records] [--url URL]\n\n"
         "The sessions of a running `windrow serve`. `list` prints a line for each, `show` the "
         "tree "
         "of\n"
         "one's turns with their tokens and where they differ from the chat template, `export` "
         "writes\n"
         "its training samples to a .safetensors file. docs/sessions.md describes sessions.\n\n" +
         table_help(sessions_flags()) +
         "\nExit codes: 0 success, 2 the command or its file is unusable, or the server refused "
         "it, "
         "3 no\n"
         "server answers, 130 interrupted.\n";
}

std::string tokenize_help_text() {
  return "windrow tokenize --model MODEL.gguf [FILE|-] [flags]\n\n"
         "Prints the token ids of a text, or of a chat as the model would get it. Only the "
         "tokenizer and\n"
         "the chat template of the model's file are read. The text is taken as it is, with its "
         "last line\n"
         "end; control tokens that it names are those tokens. No FILE is standard input.\n\n" +
         table_help(tokenize_flags());
}

std::string config_help_text() {
  return "windrow config show [--json] [flags of windrow run or serve]\n\n"
         "Prints every setting with its value and where that comes from: a flag, a variable, a "
         "line\n"
         "of a file, or the default. windrow.toml of the working folder comes before\n"
         "windrow/config.toml of $XDG_CONFIG_HOME (~/.config).\n\n" +
         table_help(config_show_flags());
}

std::string keys_help_text() {
  return "windrow keys add FILE NAME [flags] [--json]\n"
         "windrow keys list FILE [--json]\n\n"
         "Manages the API keys of `windrow serve --api-keys FILE`. `add` makes a key, appends a "
         "line for\n"
         "it to FILE and prints it, once: the file has only its hash. A running server accepts it "
         "within\n"
         "seconds. To revoke a key, remove its line; if the file has no keys, every request is "
         "refused.\n\n" +
         table_help(keys_add_flags());
}

std::string probe_help_text() {
  return "windrow probe --upstream URL [flags]\n\n"
         "Finds how many requests in flight give the best throughput of a server, as `windrow "
         "run` does\n"
         "while it works, and prints what it measured on the way. Ctrl-C ends it with what is "
         "known "
         "so far.\n" +
         table_help(probe_flags());
}

std::string sim_upstream_help_text() {
  const std::string text =
      "windrow sim-upstream [flags]\n\n"
      "A simulated server without a model, with OpenAI's API or Ollama's. It answers in the time "
      "that a\n"
      "real server would take, and injects the faults that you ask for. Prints its URL and runs "
      "until\n"
      "Ctrl-C. docs/sim-upstream.md has examples.\n";
  return text + table_help(sim_flags());
}

std::string rpc_worker_help_text() {
  const std::string text =
      "windrow rpc-worker [flags]\n\n"
      "Lends the GPUs of this machine, or its CPU, to a Windrow on another machine, which holds a\n"
      "part of a model there: windrow run ... --rpc HOST:PORT. Serves one client after the other\n"
      "until Ctrl-C. Needs libggml's plug-in for RPC (./setup --device rpc). docs/devices.md has\n"
      "examples.\n\n";
  return text + table_help(rpc_worker_flags());
}

}  // namespace windrow::app
