// The command line -> what is asked for. Knows the words, not what they do: values are checked by
// resolve_settings, files when they are opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "app/commands/probe_options.h"
#include "app/commands/rpc_worker_options.h"
#include "app/commands/sim_upstream_options.h"
#include "app/settings/resolve_settings.h"
#include "base/result.h"
#include "batch/job_options.h"

namespace windrow::app {

// How the records of a table become requests, for commands that run rows. Empty texts: not given.
struct TableFlags {
  std::string id;  // the column of the custom_ids
  std::string prompt;
  std::string prompt_file;
  std::string system;
  std::string schema;  // a file
  std::string embed;
  std::string delimiter;
  std::optional<int64_t> max_tokens;
  std::optional<double> temperature;

  std::vector<std::string> given;  // the names of those that were given: "--id"
};

struct RunCommand {
  std::string input;  // "-": standard input
  std::string output;
  std::vector<GivenFlag> flags;
  TableFlags table = {};  // none given: the input is a file of requests

  int64_t sample = 0;       // rows drawn at random; 0: all
  int64_t preview = 0;      // not 0: so many rows are printed with their answers, and not kept
  bool no_resume = false;   // with the output "-": results are printed and not kept
  std::string format = {};  // of these: empty or jsonl, csv, tsv, json

  // Given: only rows that failed run, those of this choice. No flag of `run`; `retry` says so.
  std::optional<batch::FailureChoice> only_retried = std::nullopt;
};

struct ExecCommand {
  std::string program;   // a file, or the name of a program that Windrow ships
  std::string input;     // "-": standard input; empty: one instance runs, and writes no files
  std::string output;    // with an input
  std::string argument;  // without one: the input of the instance as JSON; empty: null
  std::string trace;     // a file; empty: none
  std::vector<GivenFlag> flags;
};

struct RetryCommand {
  std::string errors;  // or the results
  std::string input;   // empty: the one the job record names
  std::string only;    // of --only; empty: all
  std::vector<GivenFlag> flags;
  TableFlags table = {};
};

struct ExportCommand {
  std::string job;                // its results, or its errors
  std::string input;              // empty: the one the job record names
  std::string output;             // its ending says which form
  std::optional<std::string> id;  // the column of the custom_ids; nothing: as recorded
  std::string delimiter;
  bool quiet = false;
};

struct ServeCommand {
  std::vector<GivenFlag> flags;
};

struct StatusCommand {
  std::string job;     // its results, or its errors
  std::string prices;  // empty: none
  bool json = false;
  bool watch = false;             // until the job ends
  std::optional<bool> histogram;  // nothing: on a terminal
};

struct CompareCommand {
  std::string first;  // results
  std::string second;
  std::string key;  // empty: none
  size_t examples = 5;
  bool json = false;
};

struct InspectCommand {
  std::string model;
  std::vector<std::string> rpc_workers;  // their devices are listed, too
  bool json = false;
};

struct DoctorCommand {
  std::vector<GivenFlag> flags;
};

struct TokenizeCommand {
  std::string input;  // a file; empty or "-": standard input
  std::string model;
  std::string chat_template;  // as --chat-template of `run`
  bool messages = false;      // the input is a chat, not a text
  bool decode = false;        // the input is token ids
  bool add_special = false;
  bool count = false;
  bool json = false;
};

enum class MemoryVerb : uint8_t { kRetain, kRecall, kConsolidate, kShow };

struct MemoryCommand {
  MemoryVerb verb = MemoryVerb::kShow;
  std::string bank;      // its file
  std::string argument;  // kRetain: the input, empty or "-": standard input; kRecall: the query
  std::vector<std::string> tags;
  int32_t tokens_max = 4096;  // kRecall: of what is found
  std::string embed;          // a model file; empty: --memory-embed says
  bool verbose = false;       // kConsolidate: a line for each call
  std::vector<GivenFlag> flags;
};

enum class SessionsVerb : uint8_t { kList, kShow, kExport };

struct SessionsCommand {
  SessionsVerb verb = SessionsVerb::kList;
  std::string id;      // kShow, kExport
  std::string output;  // kExport: a file
  std::string url = "http://127.0.0.1:8080";
  std::string api_key_env;  // empty: no key
  int64_t max_seq_len = 0;  // kExport: tokens of a sample; 0: no limit
  bool records = false;     // kExport: these instead of samples
  bool json = false;        // kList, kShow: as the server said it
};

struct PsCommand {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key_env;  // empty: no key
  bool json = false;
};

struct ChatCommand {
  std::string url;          // of a server; empty: a model in this process
  std::string api_key_env;  // empty: no key
  std::string system;       // the system message; empty: none
  std::vector<GivenFlag> flags;
};

struct KeysAddCommand {
  std::string file;
  std::string name;
  std::string limits;  // as the file has them: "rpm=600 priority=batch"
  bool json = false;
};

struct KeysListCommand {
  std::string file;
  bool json = false;
};

struct ConfigShowCommand {
  std::vector<GivenFlag> flags;  // as `run` or `serve` would take them
  bool json = false;
  bool changed = false;  // only what differs from the defaults
};

// Not in the help: every setting as JSON, for the manual page and the shell completions.
struct ConfigFlagsCommand {};

struct HelpCommand {
  std::string (*text)(size_t width) = nullptr;
};

struct VersionCommand {};

using Command =
    std::variant<RunCommand, ExecCommand, RetryCommand, ExportCommand, ServeCommand, StatusCommand,
                 CompareCommand, InspectCommand, DoctorCommand, TokenizeCommand, MemoryCommand,
                 SessionsCommand, PsCommand, ChatCommand, ConfigShowCommand, ConfigFlagsCommand,
                 KeysAddCommand, KeysListCommand, ProbeCommand, SimUpstreamCommand,
                 RpcWorkerCommand, HelpCommand, VersionCommand>;

// `arguments`: without the program's own name. kInvalid when they cannot be understood, with the
// nearest word that could.
Result<Command> parse_command_line(std::span<const std::string> arguments);

}  // namespace windrow::app
