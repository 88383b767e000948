#include "app/commands/command_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "table/table_writer.h"

namespace windrow::app {

Error needed(std::string_view text) {
  return {ErrorKind::kInvalid, std::string(text)};
}

namespace {

Result<void> check_delimiter(const std::string& delimiter) {
  if (delimiter.empty() || delimiter == "tab" || delimiter == "\\t") return {};
  const bool taken = delimiter == "\"" || delimiter == "\n" || delimiter == "\r";
  if (delimiter.size() == 1 && !taken) return {};
  return needed(fmt::format(
      "--delimiter \"{}\" is not one character; write --delimiter ';', or tab", delimiter));
}

// Flags that say what is asked go together with one another.
Result<void> check_table_flags(const TableFlags& table) {
  if (table.given.empty()) return {};
  const bool asks = !table.prompt.empty() || !table.prompt_file.empty();
  if (!asks && table.embed.empty()) {
    return needed(fmt::format(
        "{} is about the records of a table, and nothing says what to ask about them; add --prompt "
        "'Classify: {{{{ title }}}}' (a column in braces), --prompt-file FILE, or --embed",
        table.given.front()));
  }
  if (!table.prompt.empty() && !table.prompt_file.empty())
    return needed("--prompt and --prompt-file exclude each other");
  if (asks && !table.embed.empty()) {
    return needed("--embed asks for a vector of each record and --prompt for an answer; give one");
  }
  if (!table.embed.empty()) {
    for (const std::string& flag : table.given) {
      if (flag == "--system" || flag == "--schema" || flag == "--max-tokens" ||
          flag == "--temperature")
        return needed(
            fmt::format("{} is for answers, and --embed asks for vectors; leave it out", flag));
    }
  }
  return check_delimiter(table.delimiter);
}

// Results that are printed and not kept.
Result<void> check_printed(const RunCommand& command) {
  if (command.preview > 0 || command.output == "-") {
    for (const GivenFlag& given : command.flags) {
      if (given.row->name == "report")
        return needed("--report is about a job that is kept; leave it out, or name a file with -o");
      if (given.row->name == "json" && given.text == "true") {
        return needed(
            "--json prints events, which would mix with the results on standard output; leave it "
            "out, or name a file with -o");
      }
    }
  }
  if (command.preview > 0) {
    if (!command.output.empty() || command.no_resume || !command.format.empty())
      return needed("--preview prints a few rows and keeps nothing; leave out -o");
    return {};
  }
  if (command.no_resume && command.output != "-") {
    return needed(
        "--no-resume is for -o -, which prints the results; with a file, --fresh starts over");
  }
  if (command.output == "-" && !command.no_resume) {
    return needed(
        "the output must be a file, as a job continues from what it finds there; name one with -o "
        "results.jsonl, or print the results and keep nothing with --no-resume -o -");
  }
  if (!command.format.empty() && command.output != "-")
    return needed("--format is for -o -; the ending of a file's name says its form");
  if (!command.format.empty() && command.format != "jsonl" && command.format != "csv" &&
      command.format != "tsv" && command.format != "json") {
    return needed(fmt::format("--format {} is none of jsonl, csv, tsv and json", command.format));
  }
  return {};
}

}  // namespace

Result<void> check_run(const RunCommand& command) {
  if (command.input.empty()) {
    return needed(
        "no input was named; write windrow run INPUT.jsonl -o OUTPUT.jsonl, or - for standard "
        "input");
  }
  if (const Result<void> table = check_table_flags(command.table); !table) return table;
  if (const Result<void> printed = check_printed(command); !printed) return printed;
  const auto dry = std::ranges::find_if(
      command.flags, [](const GivenFlag& given) { return given.row->name == "dry-run"; });
  const bool writes = command.preview == 0 && (dry == command.flags.end() || dry->text == "false");
  if (command.output.empty() && writes) return needed("no output was named; add -o results.jsonl");
  return {};
}

Result<void> check_exec(const ExecCommand& command) {
  if (command.program.empty()) {
    return needed(
        "no program was named; write windrow exec PROGRAM.lua --input INPUT.jsonl -o "
        "RESULTS.jsonl, or the name of a program that Windrow ships");
  }
  if (!command.input.empty()) {
    if (command.output.empty()) return needed("no output was named; add -o results.jsonl");
    return {};
  }
  if (!command.output.empty()) {
    return needed(
        "-o is for the rows of --input; without one a single instance runs, whose result is "
        "printed");
  }
  for (const GivenFlag& given : command.flags) {
    const bool of_rows = given.row->group == SettingGroup::kRows || given.row->name == "ordered" ||
                         given.row->name == "report";
    if (of_rows) {
      return needed(
          fmt::format("{} is about the rows of --input, and there is none; add --input "
                      "INPUT.jsonl, or leave it out",
                      given.written));
    }
  }
  return {};
}

Result<void> check_retry(const RetryCommand& command) {
  if (const Result<void> table = check_table_flags(command.table); !table) return table;
  if (!command.errors.empty()) return {};
  return needed("no job was named; write windrow retry RESULTS.errors.jsonl");
}

Result<void> check_export(const ExportCommand& command) {
  if (command.job.empty()) {
    return needed(
        "no job was named; write windrow export RESULTS.jsonl -o TABLE.csv, or .tsv, .json, .npy");
  }
  if (command.output.empty())
    return needed("no output was named; add -o TABLE.csv, or .tsv, .json, .npy");
  if (!table::table_format_of(command.output)) {
    return needed(
        fmt::format("-o {} does not say which form the table has; its name has to end in .csv, "
                    ".tsv, .json or .npy",
                    command.output));
  }
  return check_delimiter(command.delimiter);
}

Result<void> check_status(const StatusCommand& command) {
  if (!command.job.empty()) return {};
  return needed("no job was named; write windrow status RESULTS.jsonl");
}

Result<void> check_compare(const CompareCommand& command) {
  if (command.first.empty() || command.second.empty())
    return needed("two results are needed: windrow compare a.jsonl b.jsonl");
  return {};
}

Result<void> check_inspect(const InspectCommand& command) {
  if (!command.model.empty()) return {};
  return needed("no model was named; write windrow inspect MODEL.gguf");
}

Result<void> check_tokenize(const TokenizeCommand& command) {
  if (command.model.empty())
    return needed("no model was named; write windrow tokenize --model MODEL.gguf FILE");
  if (command.decode && (command.messages || command.count || command.json || command.add_special))
    return needed("--decode prints a text and takes no other flag than --model");
  if (command.messages && command.add_special)
    return needed("--messages has what the model wants around it; leave --add-special out");
  return {};
}

Result<void> check_keys_add(const KeysAddCommand& command) {
  if (!command.file.empty() && !command.name.empty()) return {};
  return needed("a file and a name are needed: windrow keys add keys.txt NAME");
}

Result<void> check_keys_list(const KeysListCommand& command) {
  if (!command.file.empty()) return {};
  return needed("no file was named; write windrow keys list keys.txt");
}

Result<void> check_memory(const MemoryCommand& command) {
  if (command.bank.empty()) {
    return needed(
        "no bank was named; write windrow memory retain|recall|consolidate|show BANK, the path of "
        "its file");
  }
  return {};
}

Result<void> check_chat(const ChatCommand& command) {
  if (!command.url.empty() || command.api_key_env.empty()) return {};
  return needed("--api-key-env is for a server; add --url URL, or leave it out");
}

// Flags and words that only some of the verbs take.
Result<void> check_sessions(const SessionsCommand& command) {
  const std::string_view verb = command.verb == SessionsVerb::kList   ? "list"
                                : command.verb == SessionsVerb::kShow ? "show"
                                                                      : "export";
  if (command.verb != SessionsVerb::kList && command.id.empty()) {
    return needed(
        fmt::format("no session was named; write windrow sessions {} ID{} (windrow sessions list "
                    "has the ids)",
                    verb, command.verb == SessionsVerb::kExport ? " -o FILE" : ""));
  }
  // It becomes a part of the path.
  constexpr std::string_view kOfIds =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (command.id.find_first_not_of(kOfIds) != std::string::npos) {
    return needed(fmt::format(
        "\"{}\" is not the id of a session; windrow sessions list has the ids", command.id));
  }
  if (command.verb == SessionsVerb::kExport) {
    if (command.json)
      return needed("export writes a file and takes no --json; --records writes JSON");
    if (command.output.empty()) return needed("no file was named; add -o samples.safetensors");
    return {};
  }
  if (command.output.empty() && !command.records && command.max_seq_len == 0) return {};
  return needed(
      fmt::format("-o, --records and --max-seq-len are for windrow sessions export; {} "
                  "prints to standard output",
                  verb));
}

}  // namespace windrow::app
