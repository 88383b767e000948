#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command_flags.h"
#include "app/commands/flag_table.h"
#include "app/commands/help_page.h"
#include "app/commands/probe_options.h"
#include "app/commands/rpc_worker_options.h"
#include "app/commands/sim_upstream_options.h"
#include "app/settings/settings.h"

namespace windrow::app {
namespace {

void add_setting(const SettingRow& row, HelpPage& page) {
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
  page.entry(flag, text);
}

template <class Target>
void add_flag(const Flag<Target>& flag, HelpPage& page) {
  page.entry(fmt::format("{}{}--{}{}{}", flag.short_name, flag.short_name.empty() ? "" : ", ",
                         flag.name, flag.value_name.empty() ? "" : " ", flag.value_name),
             flag.help);
}

// The flags of a table, by their groups; those without one are under "Flags".
template <class Target>
void add_flags(std::span<const Flag<Target>> flags, HelpPage& page) {
  std::optional<std::string_view> group;
  for (const Flag<Target>& flag : flags) {
    if (flag.group != group) {
      group = flag.group;
      page.heading(group->empty() ? "Flags" : *group);
    }
    add_flag(flag, page);
  }
}

// The command's own flags and the settings that most users want, and then its other settings, by
// their groups.
template <class Target, class Takes>
void add_flags_and_settings(std::span<const Flag<Target>> flags, const Takes& takes_setting,
                            HelpPage& page) {
  page.heading("Common flags");
  for (const Flag<Target>& flag : flags) {
    if (flag.group.empty()) add_flag(flag, page);
  }
  for (const SettingRow& row : setting_rows()) {
    if (row.common && takes_setting(row)) add_setting(row, page);
  }
  std::string_view own;
  for (const Flag<Target>& flag : flags) {
    if (flag.group.empty()) continue;
    if (flag.group != own) {
      own = flag.group;
      page.heading(own);
    }
    add_flag(flag, page);
  }
  std::optional<SettingGroup> group;
  for (const SettingRow& row : setting_rows()) {
    if (row.common || !takes_setting(row)) continue;
    if (row.group != group) {
      group = row.group;
      page.heading(to_string(*group));
    }
    add_setting(row, page);
  }
}

void add_note_about_settings(std::string_view name, std::string_view value, HelpPage& page) {
  const SettingRow* row = find_setting(name);
  page.paragraph(
      fmt::format("Most flags may also stand in windrow.toml ({} = {}) or in a variable ({}={}); "
                  "`windrow config show` says which one counts. --no-FLAG turns off what a file "
                  "turned on.",
                  name, value, variable_of(*row), value));
}

}  // namespace

std::string help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow runs many LLM requests as few forward passes."});
  page.examples({{"windrow run requests.jsonl -o results.jsonl --model model.gguf",
                  "answer the requests of a file"},
                 {"windrow serve --model model.gguf", "a server with OpenAI's API"},
                 {"windrow chat --model model.gguf", "ask a model in the terminal"}});
  page.heading("Jobs");
  page.entry("run", "answer a JSONL file of requests");
  page.entry("exec",
             "run a Lua program for each row of a file: contexts that fork, calls that share "
             "passes");
  page.entry("retry", "run the rows of a job that failed once more");
  page.entry("export", "the answers of a job as a table, beside the records of its input");
  page.entry("status", "how a job stands: rows, failures, tokens, times");
  page.entry("compare", "two results: rows, answers, failures, tokens, latency");
  page.heading("Servers");
  page.entry("serve", "answer OpenAI's API over HTTP");
  page.entry("ps", "what a running server does: models, slots, queue, requests");
  page.entry("keys", "create and list the API keys of a server");
  page.entry("sessions", "the sessions of a running server; show or export one");
  page.entry("probe", "find the best concurrency for a server");
  page.entry("sim-upstream", "a simulated server for rehearsals, with faults on demand");
  page.entry("rpc-worker", "lend this machine's devices to another one");
  page.heading("Models");
  page.entry("chat", "talk with a model, or with a server");
  page.entry("inspect", "what a model file holds");
  page.entry("tokenize", "the tokens of a text or a chat");
  page.entry("memory", "a memory bank in a file, without a server");
  page.heading("Settings");
  page.entry("doctor", "what of this machine does not work, and what to do");
  page.entry("config", "every setting, its value and where that comes from");
  page.entry("--version", "which Windrow and which libllama");
  page.paragraph("`windrow COMMAND --help` explains a command and its flags.");
  return page.take();
}

std::string run_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow run INPUT -o OUTPUT --model MODEL.gguf [flags]"});
  page.paragraph(
      "Answers the requests of INPUT (OpenAI Batch lines; plain, .gz or .zst; - is standard input) "
      "and writes one line for each to OUTPUT, failures to OUTPUT with .errors.jsonl. The same "
      "command continues what was interrupted. With --prompt or --embed INPUT is a table (CSV, "
      "TSV, "
      "JSON, JSONL or lines of text), of which each record becomes a request.");
  page.examples(
      {{"windrow run requests.jsonl -o results.jsonl --model model.gguf", "with a local model"},
       {"windrow run requests.jsonl -o results.jsonl --upstream http://gpu:8000/v1",
        "with a server that runs"},
       {"windrow run in.csv -o out.csv --id sku --prompt 'Classify: {{title}}' --model model.gguf",
        "a table"}});
  add_flags_and_settings(
      run_flags(), [](const SettingRow& row) { return takes(SettingsOf::kRun, row); }, page);
  add_note_about_settings("rows-max", "32", page);
  page.exit_codes({{0, "all rows succeeded"},
                   {1, "some failed"},
                   {2, "the command or its input or output is unusable"},
                   {3, "the model or server is unusable"},
                   {4, "--max-cost is reached; the same command continues"},
                   {5, "stopped because rows failed (--max-failures)"},
                   {130, "interrupted; the same command continues"}});
  return page.take();
}

std::string exec_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow exec PROGRAM --input INPUT -o OUTPUT --model MODEL.gguf [flags]",
              "windrow exec PROGRAM [--arg JSON] --model MODEL.gguf [flags]"});
  page.paragraph(
      "Runs a Lua program once for each line of INPUT ({\"custom_id\": \"a\", \"input\": ...}), "
      "many at the same time, and writes one line for each to OUTPUT, failures to OUTPUT with "
      ".errors.jsonl. The same command continues what was interrupted. Without --input it runs "
      "once, and its result is printed as JSON. PROGRAM is a file, or the name of a program that "
      "Windrow ships. docs/programs.md describes programs.");
  page.examples(
      {{"windrow exec program.lua --arg '{\"n\": 3}' --model model.gguf", "once, with one input"},
       {"windrow exec program.lua --input rows.jsonl -o results.jsonl --model model.gguf",
        "for each row of a file"},
       {"windrow exec best_of_n --arg '{\"question\": \"2+2?\"}' --model model.gguf",
        "a program that Windrow ships"}});
  add_flags_and_settings(
      exec_flags(), [](const SettingRow& row) { return takes(SettingsOf::kExec, row); }, page);
  add_note_about_settings("program-seconds", "60", page);
  page.exit_codes({{0, "all rows succeeded"},
                   {1, "some failed"},
                   {2, "the command, the program or its input or output is unusable"},
                   {3, "the model or server is unusable"},
                   {4, "--max-cost is reached; the same command continues"},
                   {5, "stopped because rows failed (--max-failures)"},
                   {130, "interrupted; the same command continues"}});
  return page.take();
}

std::string retry_help_text(size_t width) {
  HelpPage page(width);
  page.usage(
      {"windrow retry RESULTS.errors.jsonl [--only CODE,...] [--input FILE] [flags of windrow "
       "run]"});
  page.paragraph(
      "Runs the rows of a job that failed, and no others. Answers are appended to the results, and "
      "the errors file is rewritten without what succeeded when the run ends; until then no line "
      "of it is lost, whatever happens. The rows are read from the input of the job, as they are "
      "now.");
  page.examples({{"windrow retry results.errors.jsonl --model model.gguf", ""},
                 {"windrow retry results.errors.jsonl --only 429,out_of_memory --model model.gguf",
                  "only some failures"},
                 {"windrow retry results.errors.jsonl --input corrected.jsonl --model model.gguf",
                  "with rows from another file"}});
  add_flags(retry_flags(), page);
  page.paragraph(
      "The flags of `windrow run` have the same meaning here, but for --fresh, --retry-failed and "
      "--dry-run, which a retry does not take. Give those that the job was run with. Exit codes "
      "are those of `windrow run`.");
  return page.take();
}

std::string export_help_text(size_t width) {
  HelpPage page(width);
  page.usage(
      {"windrow export RESULTS.jsonl -o TABLE.csv|.tsv|.json|.npy [--input FILE] [--id COLUMN]"});
  page.paragraph(
      "Writes the answers of a job as a table: the records of its input in their order, with their "
      "columns, and behind them answer, the members of answers that follow a schema, finish_reason "
      "and error. The job may be finished, interrupted or running; records without an outcome are "
      "left out. .npy holds embeddings as float32, a row for each record.");
  page.examples({{"windrow export results.jsonl -o table.csv", ""},
                 {"windrow export vectors.jsonl -o vectors.npy", "embeddings"}});
  add_flags(export_flags(), page);
  return page.take();
}

std::string serve_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow serve --model MODEL.gguf [flags]"});
  page.paragraph(
      "Answers OpenAI's API over HTTP, many requests in few forward passes, until Ctrl-C: "
      "/v1/chat/completions, /v1/responses, /v1/completions, /v1/embeddings, /v1/rerank, "
      "/v1/models, Anthropic's /v1/messages, and with --data-dir /v1/files and /v1/batches. "
      "docs/api.md describes it, docs/operating.md how to run it.");
  page.examples({{"windrow serve --model model.gguf", "on this machine alone, at 127.0.0.1:8080"},
                 {"windrow serve --model chat=a.gguf --model embed=b.gguf --data-dir ./data",
                  "two models, files and batches"},
                 {"windrow serve --model model.gguf --listen 0.0.0.0:8080 --api-keys keys.txt",
                  "for other machines; windrow keys add keys.txt NAME makes a key"}});
  add_flags_and_settings(
      std::span<const Flag<ServeCommand>>(),
      [](const SettingRow& row) { return takes(SettingsOf::kServe, row); }, page);
  add_note_about_settings("listen", "\"127.0.0.1:9000\"", page);
  page.paragraph(
      "The first Ctrl-C or SIGTERM lets requests finish within --grace, the second ends them, a "
      "third ends the process. SIGHUP reads --api-keys, --tls-cert and --tls-key again and opens "
      "--log anew.");
  page.exit_codes({{0, "stopped as it was asked to"},
                   {2, "the command, its files or its address are unusable"},
                   {3, "the model or server is unusable"},
                   {130, "requests were cut off by a second Ctrl-C"}});
  return page.take();
}

std::string status_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow status RESULTS.jsonl [--watch] [--json] [--prices FILE] [--histogram]"});
  page.paragraph(
      "Says how a job stands: whether it is finished or a process is at work on it, rows, failures "
      "with an example of each kind, attempts, tokens, and how long rows took. Of a running job "
      "also total, per cent, rate and time left, which --watch follows until the job ends.");
  page.examples({{"windrow status results.jsonl", ""},
                 {"windrow status results.jsonl --watch", "until the job ends"},
                 {"windrow status results.jsonl --prices prices.toml", "with the cost"}});
  add_flags(status_flags(), page);
  page.exit_codes({{0, "the status was printed"},
                   {2, "there is no such job, or it cannot be read"},
                   {130, "--watch was interrupted; the job goes on"}});
  return page.take();
}

std::string compare_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow compare FIRST.jsonl SECOND.jsonl [--key FILE] [--examples N] [--json]"});
  page.paragraph(
      "Compares the results of two jobs, or other OpenAI Batch output, row by row (by custom_id): "
      "rows in only one of them, answers that differ, failures, finish reasons, tokens and "
      "latency. "
      "Failures are read from the errors files beside them.");
  page.examples({{"windrow compare before.jsonl after.jsonl", ""},
                 {"windrow compare before.jsonl after.jsonl --json", "for scripts"}});
  add_flags(compare_flags(), page);
  page.exit_codes({{0, "no row differs (tokens and latency do not count)"},
                   {1, "some rows differ"},
                   {2, "the files cannot be compared"}});
  return page.take();
}

std::string inspect_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow inspect MODEL.gguf [--rpc HOST:PORT]... [--json]"});
  page.paragraph(
      "Says what a model file holds and how Windrow would run it. hf:OWNER/REPO/FILE.gguf and "
      "https://... are downloaded first, once.");
  add_flags(inspect_flags(), page);
  page.exit_codes({{0, "the model can be used"},
                   {2, "the command is unusable, or there is no such file"},
                   {3, "the model is unusable"}});
  return page.take();
}

std::string doctor_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow doctor [--model MODEL.gguf] [flags]"});
  page.paragraph(
      "Checks whether this machine can answer requests and run a server with the settings in "
      "force: "
      "libllama and its version, the processor and its plug-in, devices, memory, models, the "
      "address, --data-dir, --api-keys and open files. Says of each what was found and what to do, "
      "and changes nothing. Of a service, run it as its user in its folder.");
  page.examples({{"windrow doctor", "with the settings of this folder"},
                 {"windrow doctor --model model.gguf", "whether there is memory for a model"},
                 {"windrow doctor --config /etc/windrow/windrow.toml", "for a service"}});
  add_flags_and_settings(std::span<const Flag<ServeCommand>>(), is_of_doctor, page);
  page.exit_codes({{0, "everything works, perhaps with warnings"},
                   {1, "something does not"},
                   {2, "the settings cannot be read"}});
  return page.take();
}

std::string memory_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow memory retain BANK [FILE] [flags]",
              "windrow memory recall BANK \"QUERY\" [flags]",
              "windrow memory consolidate BANK --model MODEL.gguf [flags]",
              "windrow memory show BANK [flags]"});
  page.paragraph(
      "A memory bank in a file, without a server. `retain` adds facts, one a line: a text, or an "
      "object as POST .../memories takes it ({\"content\": ..., \"tags\": [...]}); `consolidate` "
      "turns facts into observations, `recall` finds memories, `show` prints the observations and "
      "how often each was told. A consolidation that was interrupted goes on with the same "
      "command; a retain says from which line on. docs/memory.md describes banks.");
  page.examples(
      {{"windrow memory retain notes.bank facts.txt --embed embed.gguf", ""},
       {"windrow memory consolidate notes.bank --model model.gguf --embed embed.gguf", ""},
       {"windrow memory recall notes.bank \"what does Ada like?\" --embed embed.gguf", ""}});
  add_flags_and_settings(memory_flags(), is_of_memory, page);
  page.exit_codes({{0, "success"},
                   {1, "some facts could not be consolidated"},
                   {2, "the command, the bank or the input is unusable"},
                   {3, "the model or server is unusable"},
                   {130, "interrupted"}});
  return page.take();
}

std::string sessions_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow sessions list [--json] [--url URL]",
              "windrow sessions show ID [--json] [--url URL]",
              "windrow sessions export ID -o FILE [--max-seq-len N | --records] [--url URL]"});
  page.paragraph(
      "The sessions of a running `windrow serve`. `list` prints a line for each, `show` the tree "
      "of one's turns with their tokens and where they differ from the chat template, `export` "
      "writes its training samples to a .safetensors file. docs/sessions.md describes sessions.");
  add_flags(sessions_flags(), page);
  page.exit_codes({{0, "success"},
                   {2, "the command or its file is unusable, or the server refused it"},
                   {3, "no server answers"},
                   {130, "interrupted"}});
  return page.take();
}

std::string ps_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow ps [--url URL] [--json]"});
  page.paragraph(
      "Says what a running `windrow serve` does: its models, whether each is loaded, its memory "
      "and how full its KV cache is, rows that run and requests that wait, and each request with "
      "its state, age and tokens. A key sees its own requests, an admin's key all.");
  page.examples({{"windrow ps", "the server at 127.0.0.1:8080"},
                 {"windrow ps --url https://gpu:8443 --api-key-env WINDROW_KEY", "one with keys"},
                 {"watch windrow ps", "again and again"}});
  add_flags(ps_flags(), page);
  page.exit_codes({{0, "success"},
                   {2, "the command is unusable, or the server refused it"},
                   {3, "no server answers"},
                   {130, "interrupted"}});
  return page.take();
}

std::string chat_help_text(size_t width) {
  HelpPage page(width);
  page.usage(
      {"windrow chat --model MODEL.gguf [flags]", "windrow chat --url URL [--model NAME] [flags]"});
  page.paragraph(
      "Talks with a model in this process, or with a server. In a terminal, lines are questions; "
      "Ctrl-C stops an answer, Ctrl-D ends, /help lists what else may be typed. Reasoning is shown "
      "apart from the answer. What is piped in is one question, and its answer is printed.");
  page.examples({{"windrow chat --model model.gguf --system 'Answer in one sentence.'", ""},
                 {"windrow chat --url http://127.0.0.1:8080", "with a server that runs"},
                 {"windrow chat --model model.gguf --set temperature=0 < question.txt", ""}});
  add_flags_and_settings(chat_flags(), is_of_chat, page);
  page.exit_codes({{0, "success"},
                   {2, "the command is unusable, or the question was refused"},
                   {3, "the model or server is unusable"},
                   {130, "interrupted"}});
  return page.take();
}

std::string tokenize_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow tokenize --model MODEL.gguf [FILE|-] [flags]"});
  page.paragraph(
      "Prints the token ids of a text, or of a chat as the model would get it. Only the tokenizer "
      "and the chat template of the model's file are read. The text is taken as it is, with its "
      "last line end; control tokens that it names are those tokens. No FILE is standard input.");
  page.examples({{"windrow tokenize --model model.gguf text.txt", ""},
                 {"windrow tokenize --model model.gguf --messages --count chat.json", ""},
                 {"echo 1 2 3 | windrow tokenize --model model.gguf --decode", ""}});
  add_flags(tokenize_flags(), page);
  page.exit_codes(
      {{0, "success"}, {2, "the command or its input is unusable"}, {3, "the model is unusable"}});
  return page.take();
}

std::string config_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow config show [--changed] [--json] [flags of windrow run, serve or exec]"});
  page.paragraph(
      "Prints every setting with its value and where that comes from: a flag, a variable, a line "
      "of a file, or the default. windrow.toml of the working folder comes before "
      "windrow/config.toml of $XDG_CONFIG_HOME (~/.config); --config FILE is read instead of "
      "both.");
  page.examples({{"windrow config show --changed", "only what is not as usual"},
                 {"windrow config show --config /etc/windrow/windrow.toml", "what a file says"},
                 {"windrow config show --json | jq '.\"rows-max\"'", ""}});
  add_flags(config_show_flags(), page);
  page.exit_codes({{0, "success"}, {2, "a flag, a variable or a file is wrong"}});
  return page.take();
}

std::string keys_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow keys add FILE NAME [flags] [--json]", "windrow keys list FILE [--json]"});
  page.paragraph(
      "Manages the API keys of `windrow serve --api-keys FILE`. `add` makes a key, appends a line "
      "for it to FILE and prints it, once: the file has only its hash. A running server accepts it "
      "within seconds. To revoke a key, remove its line; if the file has no keys, every request is "
      "refused.");
  page.examples({{"windrow keys add keys.txt alice", ""},
                 {"windrow keys add keys.txt nightly --priority batch --tpm 100000", "with limits"},
                 {"windrow keys list keys.txt", ""}});
  add_flags(keys_add_flags(), page);
  page.exit_codes({{0, "success"}, {2, "the command or the file is unusable"}});
  return page.take();
}

std::string probe_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow probe --upstream URL [flags]"});
  page.paragraph(
      "Finds how many requests in flight give the best throughput of a server, as `windrow run` "
      "does while it works, and prints what it measured on the way. Ctrl-C ends it with what is "
      "known so far.");
  page.examples({{"windrow probe --upstream http://gpu:8000/v1", ""},
                 {"windrow probe --upstream http://gpu:8000/v1 --input requests.jsonl",
                  "with requests of yours"}});
  add_flags(probe_flags(), page);
  page.exit_codes({{0, "success"},
                   {2, "the command or its input is unusable"},
                   {3, "the server is unusable"},
                   {130, "interrupted before anything was known"}});
  return page.take();
}

std::string sim_upstream_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow sim-upstream [flags]"});
  page.paragraph(
      "A simulated server without a model, with OpenAI's API or Ollama's. It answers in the time "
      "that a real server would take, and injects the faults that you ask for. Prints its URL and "
      "runs until Ctrl-C. docs/sim-upstream.md has examples.");
  add_flags(sim_flags(), page);
  page.exit_codes({{0, "stopped"}, {2, "the command or its address is unusable"}});
  return page.take();
}

std::string rpc_worker_help_text(size_t width) {
  HelpPage page(width);
  page.usage({"windrow rpc-worker [flags]"});
  page.paragraph(
      "Lends the GPUs of this machine, or its CPU, to a Windrow on another machine, which holds a "
      "part of a model there: windrow run ... --rpc HOST:PORT. Serves one client after the other "
      "until Ctrl-C. Needs libggml's plug-in for RPC (./setup --device rpc). docs/devices.md has "
      "examples.");
  add_flags(rpc_worker_flags(), page);
  return page.take();
}

}  // namespace windrow::app
