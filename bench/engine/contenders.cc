#include "engine/contenders.h"

#include <fmt/format.h>

#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/clock.h"
#include "engine/generate/engine.h"
#include "engine/plain_loop.h"

namespace windrow::bench {

namespace {

// One row that shares nothing with the others, so that the first of them finds weights in memory
// and threads that run.
Shape warm_up_shape(const Shape& shape) {
  return {.rows = 1, .own_tokens = 16, .answer_tokens = 2, .seed = ~shape.seed};
}

// All rows at once through the engine's interface; its counters tell what it computed. `keep`:
// keeps prompts cached, as a server does, because they may come again.
Round run_engine(engine::Engine& engine, const std::vector<Row>& rows, int answer_tokens,
                 bool keep) {
  struct Left {
    explicit Left(size_t rows) : latch(static_cast<ptrdiff_t>(rows)) {}
    std::latch latch;
    std::string problem;  // the device thread's until the latch opens
  };
  const auto left = std::make_shared<Left>(rows.size());
  std::vector<engine::EngineRequest> requests;
  for (const Row& row : rows) {
    const auto done = [left, answer_tokens](const llm::Outcome& outcome) {
      const auto* answer = std::get_if<llm::Answer>(&outcome);
      if (answer == nullptr) {
        left->problem = std::get<llm::Failure>(outcome).message;
      } else if (answer->usage.completion_tokens != answer_tokens) {
        left->problem = fmt::format("an answer of {} tokens", answer->usage.completion_tokens);
      }
      left->latch.count_down();
    };
    requests.push_back({.prompt = row.prompt,
                        .output_tokens_max = answer_tokens,
                        .sampling = {.temperature = 0},
                        .ignore_eos = true,
                        .keep = keep,
                        .done = done});
  }
  const SystemClock clock;
  const llm::BackendStats before = engine.stats();
  const TimePoint start = clock.now();
  engine.submit(std::move(requests));
  left->latch.wait();
  const double duration = seconds(clock.now() - start);
  if (!left->problem.empty()) throw std::runtime_error("the engine: " + left->problem);
  const llm::BackendStats after = engine.stats();
  return {.rows_per_second = static_cast<double>(rows.size()) / duration,
          .prefilled_tokens = after.prompt_tokens + after.recomputed_tokens - before.prompt_tokens -
                              before.recomputed_tokens,
          .generated_tokens = after.generated_tokens - before.generated_tokens};
}

Round run_plain(PlainLoop& plain, const std::vector<Row>& rows) {
  const SystemClock clock;
  const TimePoint start = clock.now();
  const PlainWork work = plain.run(rows);
  return {.rows_per_second = static_cast<double>(rows.size()) / seconds(clock.now() - start),
          .prefilled_tokens = work.prefilled_tokens,
          .generated_tokens = work.generated_tokens};
}

}  // namespace

Rounds measure_engine(const engine::LlamaModel& model, const Shape& shape, const Limits& limits) {
  auto runner = model.make_runner(
      {.cells_max = limits.cells,
       .rows_max = limits.at_once,
       .threads = limits.threads,
       .kv_cache = limits.split ? engine::KvCache::kSplit : engine::KvCache::kUnified});
  if (!runner) throw std::runtime_error(runner.error().message);
  const SystemClock clock;
  engine::Engine engine(*std::move(runner), model.vocabulary(), clock,
                        {.step_target = std::chrono::milliseconds(limits.step_ms),
                         .sampling_threads = {.count = limits.threads}});
  const int vocabulary_size = model.vocabulary().size();
  const Shape warm_up = warm_up_shape(shape);
  run_engine(engine, make_rows(warm_up, vocabulary_size), warm_up.answer_tokens, false);
  const std::vector<Row> rows = make_rows(shape, vocabulary_size);
  Rounds rounds;
  for (int i = 0; i < limits.rounds; ++i)
    rounds.push_back(run_engine(engine, rows, shape.answer_tokens, limits.rounds > 1));
  return rounds;
}

Rounds measure_plain(llama_model* model, const Shape& shape, const Limits& limits) {
  const int vocabulary_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
  const PlainLoopOptions loop_options{
      .at_once = limits.at_once, .cells = limits.cells, .threads = limits.threads};
  const Shape warm_up = warm_up_shape(shape);
  PlainLoop(model, warm_up, loop_options).run(make_rows(warm_up, vocabulary_size));
  PlainLoop plain(model, shape, loop_options);
  const std::vector<Row> rows = make_rows(shape, vocabulary_size);
  Rounds rounds;
  for (int i = 0; i < limits.rounds; ++i)
    rounds.push_back(run_plain(plain, rows));
  return rounds;
}

}  // namespace windrow::bench
