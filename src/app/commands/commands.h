// The commands of the program, and what they print where a test compares it. Each command blocks
// until it has ended and returns the exit code: 0 for success, 2 when the command, its input or its
// output is unusable, 3 when the model or its device is.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/command_line.h"
#include "app/settings/environment.h"
#include "base/result.h"

namespace windrow {
class Clock;
}

namespace windrow::batch {
class Input;
struct JobOptions;
}  // namespace windrow::batch

namespace windrow::engine {
struct Device;
struct ModelFacts;
}  // namespace windrow::engine

namespace windrow::llm {
class Tokenizer;
}

namespace windrow::app {

class Console;
struct FleetChoice;

// `windrow run`: a job from its start to its end. Also 1 when some rows failed, 4 when no more may
// be spent, 130 when it was interrupted.
int run_command(const RunCommand& command, const Environment& environment);

// `windrow run --dry-run`, from the point at which the input is open: counts its rows and tokens
// and prints an estimate of the time. Loads models and measures their speed; asks servers nothing,
// and prints the cost where --prices has it.
int dry_run_command(batch::Input& input, const batch::JobOptions& options,
                    const FleetChoice& choice, const Settings& settings, const Clock& clock,
                    Console& console);

// `windrow exec`: a program, once for each row of a file, as a job like that of `run`; or once, and
// its result is printed. Exit codes as `run`.
int exec_command(const ExecCommand& command, const Environment& environment);

// `windrow retry RESULTS.errors.jsonl`: runs the failed rows of a job again. Finds the job and its
// input; the rest is `windrow run` with only these rows. 0 also where no row failed.
int retry_command(const RetryCommand& command, const Environment& environment);

// `windrow export`: writes the answers of a job as a table. Also 130 when it was interrupted.
int export_command(const ExportCommand& command, const Environment& environment);

// `windrow serve`: a server, until a signal stops it. Also 130 when requests were cut off.
int serve_command(const ServeCommand& command, const Environment& environment);

// `windrow status`: prints how a job stands. Also 130 when --watch was interrupted.
int status_command(const StatusCommand& command);

// `windrow compare`: compares two results. 0: no row differs, 1: some do.
int compare_command(const CompareCommand& command);

// `windrow inspect MODEL`: describes a model file, which of its features Windrow can use, and the
// devices of this machine. Downloads a remote model first.
int inspect_command(const InspectCommand& command, const Environment& environment);

// The same facts as JSON for scripts and as a table for people.
boost::json::object inspection_json(const std::string& path, const engine::ModelFacts& facts,
                                    const std::vector<engine::Device>& devices);
std::string inspection_text(const std::string& path, const engine::ModelFacts& facts,
                            const std::vector<engine::Device>& devices);

// `windrow doctor`: checks whether this machine could answer requests and run a server with the
// settings in force, and prints for each check what it found and what to do. Changes nothing. 1
// when something does not work, 2 when the settings cannot be read.
int doctor_command(const DoctorCommand& command, const Environment& environment);

// `windrow tokenize`: prints the tokens of a text or of a chat, or the text of tokens. Downloads a
// remote model first.
int tokenize_command(const TokenizeCommand& command, const Environment& environment);

// What it prints for this input. kInvalid for an input that is not what the command says, for ids
// outside the vocabulary, and for messages that the template cannot write.
Result<std::string> tokenize_output(const TokenizeCommand& command, const llm::Tokenizer& tokenizer,
                                    std::string_view input);

// `windrow memory`: the facts and observations of a memory bank in a file, without a server. Also 1
// when some facts could not be consolidated, 130 when it was interrupted.
int memory_command(const MemoryCommand& command, const Environment& environment);

// `windrow sessions`: lists, shows and exports the sessions of a running server. Also 130 when it
// was interrupted.
int sessions_command(const SessionsCommand& command, const Environment& environment);

// `windrow ps`: prints the models and the requests of a running server. Also 130 when it was
// interrupted.
int ps_command(const PsCommand& command, const Environment& environment);

// `windrow chat`: a conversation in a terminal, or one question from standard input. Also 130 when
// the answer to that one was interrupted.
int chat_command(const ChatCommand& command, const Environment& environment);

// `windrow config show`: prints every setting with its value and where that came from.
int config_show_command(const ConfigShowCommand& command, const Environment& environment);

// {"rows-max": {"value", "source"}, ...}; `set` has "sources" by field.
// `only_changed`: only settings with another value than the default.
boost::json::object settings_json(const ResolvedSettings& settings, bool only_changed);
std::string settings_text(const ResolvedSettings& settings, bool only_changed);

// Prints every setting there is, for the manual page and the shell completions.
int config_flags_command();

// `windrow keys add`: appends a line to the file of API keys and prints the key, which cannot be
// read anywhere afterwards. A new file can be read by its owner alone; created by root it gets the
// owner and group of its folder, and that group may read it where the owner is root, so that the
// service can.
int keys_add_command(const KeysAddCommand& command);

// `windrow keys list`: prints names and limits. Keys are not in the file.
int keys_list_command(const KeysListCommand& command);

// `windrow probe`: measures how many requests in flight an upstream server is worth. Prints each
// measurement as it is known and a table at the end. The first Ctrl-C ends it with what is known,
// the second one at once.
int probe_command(const ProbeCommand& command, const Environment& environment);

// `windrow sim-upstream`: a simulated upstream server, until it is stopped. Prints where it
// listens. The first Ctrl-C lets requests in flight be answered for a few seconds, the second one
// does not.
int sim_upstream_command(const SimUpstreamCommand& command);

// `windrow rpc-worker`: serves the devices of this machine to others, until it is stopped.
int rpc_worker_command(const RpcWorkerCommand& command);

}  // namespace windrow::app
