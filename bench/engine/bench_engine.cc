// bench_engine: what the engine costs above libllama, and what sharing prefixes saves. The same
// rows through the engine and through the simplest good loop over libllama, in turns within one
// run; what counts is the ratio. Each side has weights and a context of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llama.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/contenders.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/workload.h"

namespace windrow::bench {
namespace {

struct Options {
  std::string model;
  Shape shape;
  Limits limits;
  int pairs = 3;
  bool plain_only = false;
  bool engine_only = false;
  bool json = false;
  std::string prompts_file;  // not empty: write the prompts there and measure nothing
};

struct FreeModel {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
using Model = std::unique_ptr<llama_model, FreeModel>;

Model load_plain_model(const std::string& path, bool vocabulary_only) {
  llama_model_params params = llama_model_default_params();
  params.vocab_only = vocabulary_only;
  Model model(llama_model_load_from_file(path.c_str(), params));
  if (model == nullptr) throw std::runtime_error("libllama cannot load " + path);
  return model;
}

int size_of_vocabulary(const std::string& path) {
  const Model model = load_plain_model(path, /*vocabulary_only=*/true);
  return llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
}

std::string to_json(const std::vector<Rounds>& pairs) {
  std::vector<std::string> texts;
  for (const Rounds& rounds : pairs) {
    std::vector<std::string> of_pair;
    for (const Round& round : rounds) {
      of_pair.push_back(fmt::format(
          R"({{"rows_per_second": {:.5g}, "prefilled_tokens": {}, "generated_tokens": {}}})",
          round.rows_per_second, round.prefilled_tokens, round.generated_tokens));
    }
    texts.push_back(fmt::format("[{}]", fmt::join(of_pair, ", ")));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// The file of libggml's CPU plug-in in this process: which one was taken decides the speed.
std::string cpu_plugin() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (const size_t at = line.find("/libggml-cpu"); at != std::string::npos)
      return line.substr(at + 1);
  }
  return "";
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_pair(const Options& options, const Rounds& plain, const Rounds& engine) {
  for (size_t i = 0; i < static_cast<size_t>(options.limits.rounds); ++i) {
    fmt::print("  {:<9}", i == 0 ? "first" : "repeated");
    if (!plain.empty()) {
      fmt::print("  plain {:8.3f} rows/s, {} tokens prefilled", plain[i].rows_per_second,
                 plain[i].prefilled_tokens);
    }
    if (!engine.empty()) {
      fmt::print("  engine {:8.3f} rows/s, {} tokens prefilled", engine[i].rows_per_second,
                 engine[i].prefilled_tokens);
    }
    if (!plain.empty() && !engine.empty()) {
      fmt::print("  engine/plain {:.3f}", engine[i].rows_per_second / plain[i].rows_per_second);
    }
    fmt::print("\n");
  }
}

void print_medians(const std::vector<Rounds>& plain, const std::vector<Rounds>& engine) {
  for (size_t round = 0; round < plain.front().size(); ++round) {
    std::vector<double> ratios;
    ratios.reserve(plain.size());
    for (size_t pair = 0; pair < plain.size(); ++pair) {
      ratios.push_back(engine[pair][round].rows_per_second / plain[pair][round].rows_per_second);
    }
    fmt::print("engine/plain, {}, median of {}: {:.3f} (target 0.95)\n",
               round == 0 ? "first" : "repeated", ratios.size(), median(ratios));
  }
}

void write_prompts(const Options& options) {
  std::ofstream file(options.prompts_file);
  for (const Row& row : make_rows(options.shape, size_of_vocabulary(options.model)))
    file << to_json(row) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + options.prompts_file);
}

int run(Options options) {
  const auto library = engine::LlamaLibrary::start("");
  if (!library) throw std::runtime_error(library.error().message);
  const Shape& shape = options.shape;
  if (!options.prompts_file.empty()) {
    write_prompts(options);
    return 0;
  }
  if (options.limits.cells == 0) {
    options.limits.cells =
        (shape.prompt_tokens() + shape.answer_tokens + 8) * options.limits.at_once;
  }
  // The plain loop brings its own weights: the engine's are hidden behind its seam.
  const Model plain_model =
      options.engine_only ? Model() : load_plain_model(options.model, /*vocabulary_only=*/false);
  std::unique_ptr<engine::LlamaModel> engine_model;
  if (!options.plain_only) {
    auto model = engine::LlamaModel::load(**library, options.model, {});
    if (!model) throw std::runtime_error(model.error().message);
    engine_model = *std::move(model);
  }
  if (!options.json) {
    fmt::print("{} rows of {} groups{}, {} shared + {} own + {} answer tokens\n", shape.rows,
               shape.groups, shape.shuffle ? ", shuffled" : "", shape.shared_tokens,
               shape.own_tokens, shape.answer_tokens);
    fmt::print("{} at once, {} cells, {} threads\n", options.limits.at_once, options.limits.cells,
               options.limits.threads);
  }
  std::vector<Rounds> plain;
  std::vector<Rounds> engine;
  for (int pair = 0; pair < options.pairs; ++pair) {
    Shape other_tokens = shape;
    other_tokens.seed += static_cast<uint64_t>(pair);
    if (plain_model)
      plain.push_back(measure_plain(plain_model.get(), other_tokens, options.limits));
    if (engine_model) engine.push_back(measure_engine(*engine_model, other_tokens, options.limits));
    if (!options.json) {
      print_pair(options, plain.empty() ? Rounds() : plain.back(),
                 engine.empty() ? Rounds() : engine.back());
    }
  }
  if (options.json) {
    fmt::print(R"({{"libllama": "{}", "cpu_plugin": "{}", "plain": {}, "engine": {}}})"
               "\n",
               engine::LlamaLibrary::version(), cpu_plugin(), to_json(plain), to_json(engine));
  } else if (!plain.empty() && !engine.empty()) {
    print_medians(plain, engine);
  }
  return 0;
}

}  // namespace
}  // namespace windrow::bench

int main(int argc, char** argv) try {
  CLI::App app("The engine beside the simplest good loop over libllama, the same rows.");
  windrow::bench::Options options;
  windrow::bench::Shape& shape = options.shape;
  app.add_option("model", options.model, "a GGUF file")->required();
  app.add_option("--rows", shape.rows)->check(CLI::PositiveNumber);
  app.add_option("--groups", shape.groups, "the rows are dealt to them")
      ->check(CLI::PositiveNumber);
  app.add_option("--shared", shape.shared_tokens, "tokens that the rows of a group begin with")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--own,--prompt", shape.own_tokens, "tokens of each row behind them")
      ->check(CLI::PositiveNumber);
  app.add_option("--answer", shape.answer_tokens)->check(CLI::PositiveNumber);
  app.add_flag("--shuffle", shape.shuffle, "the rows of all groups mixed");
  app.add_option("--seed", shape.seed, "of the tokens and the order; each pair takes the next");
  app.add_option("--at-once", options.limits.at_once)->check(CLI::Range(1, 256));
  app.add_option("--cells", options.limits.cells, "default: for so many rows that share nothing");
  app.add_option("--threads", options.limits.threads)->check(CLI::PositiveNumber);
  app.add_option("--step-ms", options.limits.step_ms, "how long a step of the engine should take");
  app.add_flag("--split", options.limits.split, "the engine's cache: each row has its own part");
  app.add_option("--pairs", options.pairs)->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.limits.rounds, "the same rows so many times, in each pair")
      ->check(CLI::PositiveNumber);
  auto* plain_only = app.add_flag("--plain-only", options.plain_only);
  app.add_flag("--engine-only", options.engine_only)->excludes(plain_only);
  app.add_flag("--json", options.json, "one object instead of lines");
  app.add_option("--write-prompts", options.prompts_file,
                 "write the rows there, a line of JSON each, and measure nothing");
  CLI11_PARSE(app, argc, argv);
  return windrow::bench::run(std::move(options));
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_engine: {}\n", error.what());
  return 1;
}
