// bench_session: what sessions cost, against what is known of the trainers' reference server
// (github.com/radixark/miles). Sessions behind HTTP in this process; agents and simulated model
// servers with rows of real size in others. Parts:
//
//   retained  memory by turn, beside two policies of the reference
//   parse     user time of reading replies against the plainest loop; /health meanwhile
//   ci        processor time of a turn, of the load of the reference's own tests
//   reads     the delay of turns while others read large sessions and samples
//   small     memory of sessions of one short turn
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "session/parts.h"

namespace windrow::session_bench {
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
}  // namespace windrow::session_bench

int main(int argc, char** argv) {
  using namespace windrow::session_bench;
  const std::vector<std::pair<std::string, Part>> parts = {{"retained", measure_retained},
                                                           {"parse", measure_parse},
                                                           {"ci", measure_ci},
                                                           {"reads", measure_reads},
                                                           {"small", measure_small}};
  const std::map<std::string, windrow::session::ModelKind> apis = {
      {"sglang-chat", windrow::session::ModelKind::kSglangChat},
      {"sglang", windrow::session::ModelKind::kSglangGenerate},
      {"vllm", windrow::session::ModelKind::kVllmCompletions}};
  CLI::App app("What sessions cost.");
  Shape shape{.model = WINDROW_BENCH_MODEL};
  std::vector<std::string> wanted;
  app.add_option("parts", wanted, "retained, parse, ci, reads, small; all without");
  app.add_option("--model", shape.model,
                 "a GGUF file with a ChatML template: its tokenizer is used");
  std::string api = "sglang-chat";
  app.add_option("--api", api, "of the model servers: sglang-chat, sglang, vllm")
      ->check(CLI::IsMember(apis));
  app.add_flag("--new-rows", shape.asks_new_rows, "ask them for new rows alone");
  app.add_option("--sessions", shape.sessions);
  app.add_option("--turns", shape.turns, "of each session");
  app.add_option("--turn-tokens", shape.turn_tokens, "new text and answer of a turn");
  app.add_option("--row-bytes", shape.row_bytes, "of a token's row, int32; a multiple of 32")
      ->check(CLI::Range(int64_t{32}, int64_t{1} << 20));
  app.add_option("--experts", shape.experts, "above 256 an id needs two bytes, above 65536 four")
      ->check(CLI::Range(int64_t{8}, int64_t{1} << 30));
  app.add_option("--rounds", shape.rounds, "of ci and reads")->check(CLI::PositiveNumber);
  app.add_option("--model-ms", shape.model_ms, "that an answer takes in reads");
  app.add_flag(
      "--full", shape.full,
      "retained with 64 sessions, parse with 32, as the targets say: 109 GB of bodies each");
  app.add_option("--plot", shape.plot, "write the plot of retained to this file (HTML with SVG)");
  CLI11_PARSE(app, argc, argv);
  shape.api = apis.at(api);
  bool kept = true;
  for (const auto& [name, part] : parts) {
    if (wanted.empty() || std::ranges::find(wanted, name) != wanted.end()) {
      fmt::print("\n== {}\n", name);
      kept = run_apart(part, shape) && kept;
    }
  }
  return kept ? 0 : 1;
}
