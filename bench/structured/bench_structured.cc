// bench_structured: the cost of structured output in the engine. The same prompts and as many
// tokens, three ways in turns within one run: any text; held to a schema token by token; and held
// to it with jump-forward, as `windrow run` does it. The figures are ratios to any text.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/generate/engine.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"
#include "engine/structure/answer_guide.h"
#include "engine/structure/structure.h"
#include "engine/workload.h"

namespace windrow::bench {
namespace {

namespace json = boost::json;

struct Options {
  std::string model;
  std::string schema;
  int rows = 32;
  int prompt_tokens = 32;
  int answer_tokens = 96;
  int threads = 2;
  int repeats = 3;
  float temperature = 0.7F;
  bool as_json = false;
  bool only_forced = false;
  std::string prompts_file;
};

enum class Way : uint8_t { kAnyText, kMasked, kForced };
constexpr std::array<const char*, 3> kWays{"any text", "schema, no forced runs", "schema"};

Shape shape_of(const Options& options, uint64_t seed) {
  return {.rows = options.rows,
          .groups = options.rows,
          .own_tokens = options.prompt_tokens,
          .answer_tokens = options.answer_tokens,
          .seed = seed};
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  double tokens_per_second = 0;
  int64_t passes = 0;
  std::string sample;  // the beginning of an answer
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), library_(engine::LlamaLibrary::start("").value()) {
    auto model = engine::LlamaModel::load(*library_, options.model, {});
    if (!model) throw std::runtime_error(model.error().message);
    model_ = std::move(model).value();
    const engine::VocabularyTables tables = engine::make_tables(model_->vocabulary(), {}, {});
    const llm::StructureSpec spec{.kind = llm::StructureSpec::Kind::kJsonSchema,
                                  .text = contents(options.schema)};
    auto structure = engine::make_structure(spec, tables, {});
    if (!structure) throw std::runtime_error(structure.error().message);
    structure_ = std::move(structure).value();
    auto runner = model_->make_runner(
        {.cells_max = options.rows * (options.prompt_tokens + options.answer_tokens + 16),
         .rows_max = options.rows,
         .threads = options.threads});
    if (!runner) throw std::runtime_error(runner.error().message);
    engine_ = std::make_unique<engine::Engine>(
        *std::move(runner), model_->vocabulary(), clock_,
        engine::StepLoopOptions{.sampling_threads = {.count = options.threads}});
  }

  // Every call has tokens of its own, so nothing of a prompt is there already.
  Outcome run(Way way, uint64_t seed) {
    const std::vector<Row> rows = make_rows(shape_of(options_, seed), model_->vocabulary().size());
    const auto left = std::make_shared<Left>(rows.size());
    std::vector<engine::EngineRequest> requests;
    for (size_t i = 0; i < rows.size(); ++i) {
      engine::EngineRequest request{.prompt = rows[i].prompt,
                                    .output_tokens_max = options_.answer_tokens,
                                    .sampling = {.temperature = options_.temperature},
                                    .ignore_eos = way == Way::kAnyText,
                                    .form = form(way)};
      request.sampling.seed = seed * 1000 + i;
      request.done = [left, wanted = options_.answer_tokens](const llm::Outcome& outcome) {
        left->hear(outcome, wanted);
      };
      requests.push_back(std::move(request));
    }
    const llm::BackendStats before = engine_->stats();
    const TimePoint start = clock_.now();
    engine_->submit(std::move(requests));
    left->latch.wait();
    const double duration = seconds(clock_.now() - start);
    if (!left->problem.empty()) {
      throw std::runtime_error(
          fmt::format("{}: {}", kWays[static_cast<size_t>(way)], left->problem));
    }
    const llm::BackendStats after = engine_->stats();
    return {.tokens_per_second =
                static_cast<double>(after.generated_tokens - before.generated_tokens) / duration,
            .passes = after.steps - before.steps,
            .sample = left->sample};
  }

 private:
  struct Left {
    explicit Left(size_t rows) : latch(static_cast<ptrdiff_t>(rows)) {}

    // On the device thread.
    void hear(const llm::Outcome& outcome, int wanted) {
      const auto* answer = std::get_if<llm::Answer>(&outcome);
      if (answer == nullptr) {
        problem = std::get<llm::Failure>(outcome).message;
      } else if (answer->usage.completion_tokens != wanted) {
        problem = fmt::format("an answer of {} tokens, not {}: {}", answer->usage.completion_tokens,
                              wanted, answer->choices.front().text.substr(0, 300));
      } else {
        sample = answer->choices.front().text.substr(0, 120);
      }
      latch.count_down();
    }

    std::latch latch;
    std::string problem;
    std::string sample;
  };

  std::shared_ptr<const engine::AnswerForm> form(Way way) const {
    if (way == Way::kAnyText) return nullptr;
    return std::make_shared<engine::AnswerForm>(
        engine::AnswerForm{.grammar = structure_->grammar, .force = way == Way::kForced});
  }

  const Options options_;
  const SystemClock clock_;
  std::unique_ptr<engine::LlamaLibrary> library_;
  std::unique_ptr<engine::LlamaModel> model_;
  std::shared_ptr<const engine::Structure> structure_;
  std::unique_ptr<engine::Engine> engine_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int write_prompts(const Options& options) {
  const auto library = engine::LlamaLibrary::start("").value();
  auto model = engine::LlamaModel::load(*library, options.model, {});
  if (!model) throw std::runtime_error(model.error().message);
  std::ofstream file(options.prompts_file);
  for (const Row& row : make_rows(shape_of(options, 1), model.value()->vocabulary().size()))
    file << to_json(row) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + options.prompts_file);
  return 0;
}

int run(const Options& options) {
  if (!options.prompts_file.empty()) return write_prompts(options);
  Bench bench(options);
  std::array<std::vector<double>, 3> rates;
  std::array<std::vector<double>, 3> ratios;
  uint64_t seed = 1;
  bench.run(Way::kForced, ++seed);  // weights in memory, masks of the schema found
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    std::array<double, 3> now{};
    for (size_t i = 0; i < 3; ++i) {
      const size_t way = repeat % 2 == 0 ? i : 2 - i;
      if (options.only_forced && static_cast<Way>(way) != Way::kForced) continue;
      const Outcome outcome = bench.run(static_cast<Way>(way), ++seed);
      now[way] = outcome.tokens_per_second;
      rates[way].push_back(now[way]);
      if (!options.as_json) {
        fmt::print("  {:<24} {:8.2f} tokens/s, {} forward passes   {:?}\n", kWays[way], now[way],
                   outcome.passes, outcome.sample);
      }
    }
    if (options.only_forced) continue;
    for (size_t way = 1; way < 3; ++way)
      ratios[way].push_back(now[way] / now[0]);
  }
  json::object figures{{"rows", options.rows}, {"answer_tokens", options.answer_tokens}};
  bool missed = false;
  for (size_t way = 0; way < 3; ++way) {
    if (!rates[way].empty()) {
      figures[kWays[way]] = json::object{{"tokens_per_second", median(rates[way])}};
    }
  }
  if (!options.only_forced) {
    constexpr double kLeast = 0.97;
    json::object targets;
    for (size_t way = 1; way < 3; ++way) {
      const double value = median(ratios[way]);
      const bool met = value >= kLeast;
      targets[fmt::format("{} to any text", kWays[way])] =
          json::object{{"value", value}, {"least", kLeast}, {"met", met}};
      if (!options.as_json) {
        fmt::print("{:<40} {:6.3f}   at least {}: {}\n", fmt::format("{} to any text", kWays[way]),
                   value, kLeast, met ? "met" : "MISSED");
      }
      missed = missed || !met;
    }
    figures["targets"] = std::move(targets);
  }
  if (options.as_json) fmt::print("{}\n", json::serialize(figures));
  return missed ? 1 : 0;
}

}  // namespace
}  // namespace windrow::bench

int main(int argc, char** argv) try {
  CLI::App app("Structured answers beside any text: tokens a second of the engine.");
  windrow::bench::Options options;
  options.schema = WINDROW_BENCH_STRUCTURED_FOLDER "/report.json";
  app.add_option("model", options.model, "a GGUF file")->required();
  app.add_option("--schema", options.schema, "no answer may end before --answer tokens");
  app.add_option("--rows", options.rows);
  app.add_option("--prompt", options.prompt_tokens, "tokens");
  app.add_option("--answer", options.answer_tokens, "tokens");
  app.add_option("--threads", options.threads);
  app.add_option("--repeats", options.repeats, "every second one in reverse order");
  app.add_option("--temperature", options.temperature);
  app.add_flag("--only-forced", options.only_forced, "as compare.py wants it");
  app.add_option("--write-prompts", options.prompts_file, "writes them there, measures nothing");
  app.add_flag("--json", options.as_json, "one object, not a table");
  CLI11_PARSE(app, argc, argv);
  return windrow::bench::run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_structured: {}\n", error.what());
  return 2;
}
