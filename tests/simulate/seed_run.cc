#include "simulate/seed_run.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/ensure.h"
#include "simulate/dispatch_simulation.h"
#include "simulate/job_simulation.h"
#include "simulate/report.h"
#include "simulate/trace.h"

namespace windrow::simulate {
namespace {

constexpr std::string_view kTraceWord = " trace ";
constexpr std::string_view kBrokenWord = "broken: ";

std::string command_of(const SeedOptions& options) {
  std::string command = fmt::format("windrow-simulate --seed {}", options.seed);
  if (options.rows) command += fmt::format(" --rows {}", *options.rows);
  if (options.canary != Canary::kNone)
    command += fmt::format(" --canary {}", to_string(options.canary));
  return command + " --verbose";
}

// One thread runs at a time, and to wake one on another processor takes longer than what it does.
void stay_on_this_processor() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  CPU_SET(static_cast<size_t>(std::max(sched_getcpu(), 0)), &processors);
  static_cast<void>(sched_setaffinity(0, sizeof(processors), &processors));
}

[[noreturn]] void simulate(const SeedOptions& options) {
  stay_on_this_processor();
  Trace trace(options.verbose ? [](const std::string& event) { fmt::print("{}\n", event); }
                              : Trace::Show());
  report_about(command_of(options), trace);
  int64_t processes = 1;
  int64_t steps = 0;
  // Every fourth seed, unless the size of the input is given.
  if (options.seed % 4 == 0 && !options.rows) {
    DispatchSimulation simulation(options.seed, options.canary, trace);
    simulation.run();
    steps = simulation.steps();
  } else {
    JobSimulation simulation({.seed = options.seed, .rows = options.rows, .canary = options.canary},
                             trace);
    simulation.run();
    processes = simulation.processes();
    steps = simulation.steps();
  }
  fmt::print("seed {}: well; {} processes, {} steps,{}{:016x}\n", options.seed, processes, steps,
             kTraceWord, trace.hash());
  std::fflush(stdout);
  _exit(0);
}

// Up to its end.
std::string read_all(int file, const Hear& hear) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    const std::string_view piece(buffer.data(), static_cast<size_t>(count));
    text += piece;
    if (hear) hear(piece);
  }
}

}  // namespace

SeedRun run_seed(const SeedOptions& options, const Hear& hear) {
  std::fflush(nullptr);
  std::array<int, 2> ends = {};
  ENSURE(pipe(ends.data()) == 0, "there is no pipe: error {}", errno);
  const pid_t child = fork();
  ENSURE(child >= 0, "there is no process: error {}", errno);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    simulate(options);
  }
  close(ends[1]);
  SeedRun run;
  run.text = read_all(ends[0], hear);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  run.well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (run.well) {
    const size_t at = run.text.rfind(kTraceWord);
    ENSURE(at != std::string::npos, "a run that went well says its trace");
    const char* const digits = run.text.data() + at + kTraceWord.size();
    std::from_chars(digits, run.text.data() + run.text.size(), run.trace, 16);
    return run;
  }
  if (const size_t at = run.text.rfind(kBrokenWord); at != std::string::npos) {
    const size_t begin = at + kBrokenWord.size();
    run.invariant = run.text.substr(begin, run.text.find('\n', begin) - begin);
  } else {
    run.invariant = WIFSIGNALED(status) ? fmt::format("signal {} ended it", WTERMSIG(status))
                                        : "it said nothing";
    const std::string line =
        fmt::format("broken: {}\nagain: {}\n", run.invariant, command_of(options));
    run.text += line;
    if (hear) hear(line);
  }
  return run;
}

}  // namespace windrow::simulate
