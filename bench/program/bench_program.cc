// bench_program: what programs cost, on a simulated model, so that nothing but Windrow is measured.
// Parts:
//
//   width  the branches of a level share forward passes
//   fork   prompt tokens computed and time until all branches are in the batch
//   many   processor time of a step, memory of an instance
//
// `plain` and `usefulness` need the whole program `windrow`: plain.py, usefulness.py.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/parts.h"

namespace windrow::program_bench {
namespace {

using Part = std::function<bool(const Shape&)>;

// In a process of its own: it begins without threads, and its memory is its own.
bool run_apart(const Part& part, const Shape& shape) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    int status = 2;
    try {
      status = part(shape) ? 0 : 1;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace windrow::program_bench

int main(int argc, char** argv) {
  using namespace windrow::program_bench;
  const std::vector<std::pair<std::string, Part>> parts = {
      {"width", measure_width}, {"fork", measure_fork}, {"many", measure_many}};
  CLI::App app("What programs cost, on a simulated model.");
  Shape shape;
  std::vector<std::string> wanted;
  app.add_option("parts", wanted, "width, fork, many; all without");
  app.add_option("--tokens", shape.tokens, "of an answer in width")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--context", shape.context, "tokens that are forked in fork")
      ->check(CLI::Range(100, 8000))
      ->capture_default_str();
  app.add_option("--forks", shape.forks, "branches in fork")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  app.add_option("--rounds", shape.rounds, "of fork")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--instances", shape.instances, "in many")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps", shape.steps, "calls of each instance in many")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  bool kept = true;
  for (const auto& [name, part] : parts) {
    if (wanted.empty() || std::ranges::find(wanted, name) != wanted.end()) {
      fmt::print("\n== {}\n", name);
      kept = run_apart(part, shape) && kept;
    }
  }
  return kept ? 0 : 1;
}
