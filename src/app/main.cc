// windrow: parses, runs, maps to an exit code.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/commands/command_line.h"
#include "app/commands/commands.h"
#include "app/commands/help_page.h"
#include "app/process/console.h"
#include "app/process/open_files.h"
#include "app/settings/environment.h"
#include "base/uncaught.h"
#include "engine/llama/llama_library.h"

namespace windrow::app {
namespace {

constexpr int kExitUnusable = 2;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

int version_command() {
  fmt::print("windrow {}\n{}\n", WINDROW_VERSION, engine::LlamaLibrary::version());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const Environment environment = read_environment();
  const Result<Command> command = parse_command_line(arguments);
  if (!command) {
    fmt::print(stderr, "windrow: {}\n", command.error().message);
    return kExitUnusable;
  }
  return std::visit(
      Overloaded{
          [&](const RunCommand& run) { return run_command(run, environment); },
          [&](const ExecCommand& exec) { return exec_command(exec, environment); },
          [&](const RetryCommand& retry) { return retry_command(retry, environment); },
          [&](const ExportCommand& command) { return export_command(command, environment); },
          [&](const ServeCommand& serve) { return serve_command(serve, environment); },
          [](const StatusCommand& status) { return status_command(status); },
          [](const CompareCommand& compare) { return compare_command(compare); },
          [&](const InspectCommand& inspect) { return inspect_command(inspect, environment); },
          [&](const DoctorCommand& doctor) { return doctor_command(doctor, environment); },
          [&](const TokenizeCommand& tokenize) { return tokenize_command(tokenize, environment); },
          [&](const MemoryCommand& memory) { return memory_command(memory, environment); },
          [&](const SessionsCommand& sessions) { return sessions_command(sessions, environment); },
          [&](const PsCommand& ps) { return ps_command(ps, environment); },
          [&](const ChatCommand& chat) { return chat_command(chat, environment); },
          [&](const ConfigShowCommand& show) { return config_show_command(show, environment); },
          [](const KeysAddCommand& add) { return keys_add_command(add); },
          [](const KeysListCommand& list) { return keys_list_command(list); },
          [](const ConfigFlagsCommand&) { return config_flags_command(); },
          [&](const ProbeCommand& probe) { return probe_command(probe, environment); },
          [](const SimUpstreamCommand& sim) { return sim_upstream_command(sim); },
          [](const RpcWorkerCommand& worker) { return rpc_worker_command(worker); },
          [&](const HelpCommand& help) {
            std::optional<size_t> columns;
            if (is_terminal(STDOUT_FILENO)) columns = terminal_width(STDOUT_FILENO);
            fmt::print("{}", help.text(help_width(environment, columns)));
            return 0;
          },
          [](const VersionCommand&) { return version_command(); },
      },
      *command);
}

}  // namespace
}  // namespace windrow::app

int main(int argc, char** argv) try {
  windrow::end_on_uncaught();
  // In an installed tree a loader starts this program, and ps would show that one's name.
  prctl(PR_SET_NAME, "windrow");
  // Before anything is opened.
  if (!windrow::app::hold_standard_descriptors()) return windrow::app::kExitUnusable;
  // Where ggml gives up it would otherwise start a debugger on the process.
  setenv("GGML_NO_BACKTRACE", "1", 1);
  const int exit_code = windrow::app::run(std::vector<std::string>(argv + 1, argv + argc));
  // A full disk shows here, not in the prints above.
  if (std::fflush(stdout) != 0 && exit_code == 0) {
    fmt::print(stderr, "windrow: the output cannot be written\n");
    return windrow::app::kExitUnusable;
  }
  return exit_code;
} catch (const std::exception& error) {
  windrow::end_on(error, "the command");
}
