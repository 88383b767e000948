#include "app/commands/command_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace windrow::app {

Error needed(std::string_view text) {
  return {ErrorKind::kInvalid, std::string(text)};
}

Result<void> check_run(const RunCommand& command) {
  if (command.input.empty()) {
    return needed(
        "no input was named; write windrow run INPUT.jsonl -o OUTPUT.jsonl, or - for standard "
        "input");
  }
  const auto dry = std::ranges::find_if(
      command.flags, [](const GivenFlag& given) { return given.row->name == "dry-run"; });
  const bool writes = dry == command.flags.end() || dry->text == "false";
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
  if (!command.errors.empty()) return {};
  return needed("no job was named; write windrow retry RESULTS.errors.jsonl");
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
