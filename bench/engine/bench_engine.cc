// bench_engine: what the engine costs above libllama. The same rows through the engine and through
// the plainest loop over libllama with the same batch shape, in turns within one run; what counts
// is the ratio. Both share the weights, each has a context of its own.
#include <fmt/format.h>
#include <llama.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <future>
#include <vector>

#include "engine/engine.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow {
namespace {

struct Shape {
  int rows = 32;
  int at_once = 16;
  int prompt_tokens = 128;
  int answer_tokens = 32;
  int pairs = 3;
  int step_ms = 2000;  // what `windrow run` aims at
};

engine::Token token_of(int row, int position, int vocabulary) {
  return static_cast<engine::Token>((row * 7919 + position * 104729 + 13) %
                                    std::min(vocabulary - 300, 2000)) +
         200;
}

std::vector<engine::Token> prompt_of(const Shape& shape, int row, int vocabulary) {
  std::vector<engine::Token> prompt;
  for (int i = 0; i < shape.prompt_tokens; ++i)
    prompt.push_back(token_of(row, i, vocabulary));
  return prompt;
}

// Waves of `at_once` rows: prefill all in steps of 512 tokens, then decode them side by side.
class PlainLoop {
 public:
  PlainLoop(llama_model* model, const Shape& shape, int cells, int threads) : shape_(shape) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(cells);
    params.n_batch = 2048;
    params.n_ubatch = 512;
    params.n_seq_max = static_cast<uint32_t>(shape.at_once);
    params.kv_unified = true;
    params.n_threads = params.n_threads_batch = threads;
#if WINDROW_HAVE_N_OUTPUTS_MAX
    params.n_outputs_max = static_cast<uint32_t>(shape.at_once);
#endif
    context_ = llama_init_from_model(model, params);
    vocabulary_ = llama_vocab_n_tokens(llama_model_get_vocab(model));
    batch_ = llama_batch_init(2048, 0, 1);
  }
  ~PlainLoop() {
    llama_batch_free(batch_);
    llama_free(context_);
  }
  PlainLoop(const PlainLoop&) = delete;
  PlainLoop& operator=(const PlainLoop&) = delete;

  void run() {
    for (int first = 0; first < shape_.rows; first += shape_.at_once) {
      wave(first, std::min(shape_.at_once, shape_.rows - first));
    }
  }

 private:
  void wave(int first, int rows) {
    llama_memory_clear(llama_get_memory(context_), false);
    std::vector<engine::Token> last(static_cast<size_t>(rows));
    std::vector<std::pair<int, int>> wanted;  // row, index in the batch
    const auto flush = [&] {
      if (batch_.n_tokens == 0) return;
      if (llama_decode(context_, batch_) != 0) throw std::runtime_error("libllama failed");
      for (const auto& [row, index] : wanted)
        last[static_cast<size_t>(row)] = greedy(index);
      wanted.clear();
      batch_.n_tokens = 0;
    };
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < shape_.prompt_tokens; ++i) {
        const bool logits = i + 1 == shape_.prompt_tokens;
        if (logits) wanted.emplace_back(row, batch_.n_tokens);
        add(token_of(first + row, i, vocabulary_), i, row, logits);
        if (batch_.n_tokens == 512) flush();
      }
    }
    flush();
    for (int i = 1; i < shape_.answer_tokens; ++i) {
      for (int row = 0; row < rows; ++row) {
        wanted.emplace_back(row, batch_.n_tokens);
        add(last[static_cast<size_t>(row)], shape_.prompt_tokens + i - 1, row, true);
      }
      flush();
    }
  }

  void add(engine::Token token, int position, int sequence, bool logits) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = logits ? 1 : 0;
  }

  engine::Token greedy(int index) {
    const float* logits = llama_get_logits_ith(context_, index);
    return static_cast<engine::Token>(std::max_element(logits, logits + vocabulary_) - logits);
  }

  Shape shape_;
  llama_context* context_ = nullptr;
  int vocabulary_ = 0;
  llama_batch batch_{};
};

// Through the engine's own door, all rows submitted at once.
void run_engine(engine::Engine& engine, const Shape& shape, int vocabulary) {
  std::vector<std::future<bool>> answers;
  for (int row = 0; row < shape.rows; ++row) {
    auto promise = std::make_shared<std::promise<bool>>();
    answers.push_back(promise->get_future());
    std::vector<engine::EngineRequest> one;
    one.push_back({.prompt = prompt_of(shape, row, vocabulary),
                   .output_tokens_max = shape.answer_tokens,
                   .sampling = {.temperature = 0},
                   .ignore_eos = true,
                   .done = [promise](const llm::Outcome& outcome) {
                     promise->set_value(std::holds_alternative<llm::Answer>(outcome));
                   }});
    engine.submit(std::move(one));
  }
  for (std::future<bool>& answer : answers) {
    if (!answer.get()) throw std::runtime_error("the engine failed");
  }
}

double timed(const Clock& clock, const auto& work) {
  const TimePoint start = clock.now();
  work();
  return seconds(clock.now() - start);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(const std::string& path, const Shape& shape, int threads) {
  const auto library = engine::LlamaLibrary::start("").value();
  const auto model = engine::LlamaModel::load(*library, path, {}).value();
  const int cells = (shape.prompt_tokens + shape.answer_tokens + 8) * shape.at_once;
  auto runner =
      model->make_runner({.cells_max = cells, .rows_max = shape.at_once, .threads = threads});
  if (!runner) throw std::runtime_error(runner.error().message);
  // The plain loop brings its own weights: the engine's are hidden behind its seam.
  llama_model* raw = llama_model_load_from_file(path.c_str(), llama_model_default_params());
  if (raw == nullptr) throw std::runtime_error("libllama cannot load the model twice");
  const SystemClock clock;
  std::vector<double> ratios;
  {
    PlainLoop plain(raw, shape, cells, threads);
    const int vocabulary = model->vocabulary().size();
    engine::Engine engine(*std::move(runner), model->vocabulary(), clock,
                          std::chrono::milliseconds(shape.step_ms));
    fmt::print("{} rows, {} at once, {} prompt + {} answer tokens, {} threads\n", shape.rows,
               shape.at_once, shape.prompt_tokens, shape.answer_tokens, threads);
    for (int pair = 0; pair < shape.pairs; ++pair) {
      const double plain_s = timed(clock, [&] { plain.run(); });
      const double engine_s = timed(clock, [&] { run_engine(engine, shape, vocabulary); });
      ratios.push_back(plain_s / engine_s);
      fmt::print("  plain {:.3f} rows/s   engine {:.3f} rows/s   engine/plain {:.3f}\n",
                 shape.rows / plain_s, shape.rows / engine_s, ratios.back());
    }
  }
  fmt::print("engine/plain, median of {}: {:.3f} (target 0.95)\n", ratios.size(), median(ratios));
  llama_model_free(raw);
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  CLI::App app("The engine beside the plainest loop over libllama, same rows, same batch shape.");
  std::string path;
  windrow::Shape shape;
  int threads = 2;
  app.add_option("model", path, "a GGUF file")->required();
  app.add_option("--rows", shape.rows);
  app.add_option("--at-once", shape.at_once);
  app.add_option("--prompt", shape.prompt_tokens);
  app.add_option("--answer", shape.answer_tokens);
  app.add_option("--pairs", shape.pairs);
  app.add_option("--step-ms", shape.step_ms, "how long a step of the engine should take");
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  return windrow::run(path, shape, threads);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_engine: {}\n", error.what());
  return 1;
}
