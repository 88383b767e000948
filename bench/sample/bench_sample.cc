// bench_sample: the cost of choosing the next tokens, as a share of the step that computes the
// logits they are chosen from. One context decodes step after step with all rows; after each step
// its logits are sampled with every setting, with and without helping threads.
#include <fmt/format.h>
#include <llama.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "async/parallel_for.h"
#include "base/clock.h"
#include "engine/llama/llama_library.h"
#include "engine/sampling/sampler.h"

namespace windrow {
namespace {

struct Shape {
  int rows = 32;
  int prompt_tokens = 16;
  int steps = 12;
  int threads = 2;
  double scale = 1;  // of the logits: random weights are flatter than trained ones
};

struct Setting {
  std::string name;
  llm::Sampling sampling;
  int logprobs_top = -1;  // none
};

std::vector<Setting> settings() {
  return {
      {"greedy", {.temperature = 0}},
      {"temperature 0.7", {.temperature = 0.7F}},
      {"temperature 0.7, top_p 0.9", {.temperature = 0.7F, .top_p = 0.9F}},
      {"temperature 0.7, top_k 40, top_p 0.95, min_p 0.05",
       {.temperature = 0.7F, .top_k = 40, .top_p = 0.95F, .min_p = 0.05F}},
      {"temperature 0.7, min_p 0.05", {.temperature = 0.7F, .min_p = 0.05F}},
      {"temperature 0.7, typical_p 0.9", {.temperature = 0.7F, .typical_p = 0.9F}},
      {"temperature 0.7, all penalties",
       {.temperature = 0.7F,
        .presence_penalty = 0.5F,
        .frequency_penalty = 0.5F,
        .repetition_penalty = 1.1F}},
      {"greedy, logprobs 5", {.temperature = 0}, 5},
      {"temperature 0.7, top_p 0.9, logprobs 5", {.temperature = 0.7F, .top_p = 0.9F}, 5},
  };
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Rows of equal length that go on with tokens that do not matter.
class Decoder {
 public:
  Decoder(llama_model* model, const Shape& shape, int steps) : shape_(shape) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(shape.rows * (shape.prompt_tokens + steps + 8));
    params.n_batch = 2048;
    params.n_seq_max = static_cast<uint32_t>(shape.rows);
    params.kv_unified = true;
    params.n_threads = params.n_threads_batch = shape.threads;
#if WINDROW_HAVE_N_OUTPUTS_MAX
    params.n_outputs_max = static_cast<uint32_t>(shape.rows);
#endif
    context_ = llama_init_from_model(model, params);
    if (context_ == nullptr) throw std::runtime_error("libllama cannot make a context");
    vocabulary_ = llama_vocab_n_tokens(llama_model_get_vocab(model));
    batch_ = llama_batch_init(2048, 0, 1);
    for (; position_ < shape.prompt_tokens; ++position_)
      decode();
  }
  ~Decoder() {
    llama_batch_free(batch_);
    llama_free(context_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void step() {
    decode();
    ++position_;
  }

  std::vector<std::span<const float>> logits() const {
    std::vector<std::span<const float>> rows;
    for (int row = 0; row < shape_.rows; ++row) {
      rows.emplace_back(llama_get_logits_ith(context_, row), static_cast<size_t>(vocabulary_));
    }
    return rows;
  }

 private:
  void decode() {
    batch_.n_tokens = 0;
    for (int row = 0; row < shape_.rows; ++row) {
      const int i = batch_.n_tokens++;
      batch_.token[i] = (row * 7919 + position_ * 104729 + 13) % 2000 + 200;
      batch_.pos[i] = position_;
      batch_.n_seq_id[i] = 1;
      batch_.seq_id[i][0] = row;
      batch_.logits[i] = 1;
    }
    if (llama_decode(context_, batch_) != 0) throw std::runtime_error("libllama failed");
    llama_synchronize(context_);
  }

  Shape shape_;
  llama_context* context_ = nullptr;
  int vocabulary_ = 0;
  int position_ = 0;
  llama_batch batch_{};
};

struct Times {
  std::vector<double> alone_ms;
  std::vector<double> shared_ms;
};

int run(const std::string& path, const Shape& shape) {
  const auto library = engine::LlamaLibrary::start("").value();
  llama_model* model = llama_model_load_from_file(path.c_str(), llama_model_default_params());
  if (model == nullptr) throw std::runtime_error("libllama cannot load the model");
  const SystemClock clock;
  const auto timed_ms = [&](const auto& work) {
    const TimePoint start = clock.now();
    work();
    return 1e3 * seconds(clock.now() - start);
  };
  const std::vector<Setting> all = settings();
  std::vector<Times> times(all.size());
  std::vector<double> steps_ms;
  {
    Decoder decoder(model, shape, shape.steps * static_cast<int>(all.size()));
    async::ParallelFor workers(shape.threads);
    std::vector<engine::Sampler> samplers(static_cast<size_t>(shape.threads));
    const std::vector<engine::Token> history(200, 17);
    int64_t checksum = 0;
    for (int step = 0; step < shape.steps; ++step) {
      // Every second step with one of the two, so that both follow a step directly, when libllama's
      // threads still spin.
      const bool shared = step % 2 == 1;
      for (size_t i = 0; i < all.size(); ++i) {
        steps_ms.push_back(timed_ms([&] { decoder.step(); }));
        std::vector<std::vector<float>> scaled;
        std::vector<std::span<const float>> rows = decoder.logits();
        if (shape.scale != 1) {
          for (std::span<const float>& row : rows) {
            scaled.emplace_back(row.begin(), row.end());
            for (float& logit : scaled.back())
              logit *= static_cast<float>(shape.scale);
            row = scaled.back();
          }
        }
        std::vector<engine::Token> tokens(rows.size());
        const double ms = timed_ms([&] {
          workers.run(rows.size(), shared ? shape.threads : 1, [&](size_t row, size_t worker) {
            engine::Sampler& sampler = samplers[worker];
            tokens[row] =
                sampler.sample(rows[row], all[i].sampling, {.prompt = history, .answer = history})
                    .value();
            if (all[i].logprobs_top >= 0)
              sampler.score(rows[row], tokens[row], all[i].logprobs_top);
          });
        });
        (shared ? times[i].shared_ms : times[i].alone_ms).push_back(ms);
        for (const engine::Token token : tokens)
          checksum += token;
      }
    }
    fmt::print("{} rows, vocabulary {}, {} threads; tokens add up to {}\n", shape.rows,
               decoder.logits()[0].size(), shape.threads, checksum);
  }
  const double step_ms = median(steps_ms);
  fmt::print("a step of libllama: {:.1f} ms\n\n{:52} {:>9} {:>7} {:>9} {:>7}\n", step_ms, "setting",
             "1 thread", "share", fmt::format("{} threads", shape.threads), "share");
  for (size_t i = 0; i < all.size(); ++i) {
    const double alone = median(times[i].alone_ms);
    const double shared = median(times[i].shared_ms);
    fmt::print("{:52} {:6.2f} ms {:5.2f} % {:6.2f} ms {:5.2f} %\n", all[i].name, alone,
               100 * alone / step_ms, shared, 100 * shared / step_ms);
  }
  fmt::print("\n(target: 5 % of a step)\n");
  llama_model_free(model);
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  CLI::App app("The sampler beside the forward pass whose logits it samples.");
  std::string path;
  windrow::Shape shape;
  app.add_option("model", path, "a GGUF file")->required();
  app.add_option("--rows", shape.rows);
  app.add_option("--prompt", shape.prompt_tokens);
  app.add_option("--steps", shape.steps, "of each setting");
  app.add_option("--threads", shape.threads);
  app.add_option("--scale", shape.scale, "what the logits are multiplied with");
  CLI11_PARSE(app, argc, argv);
  return windrow::run(path, shape);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_sample: {}\n", error.what());
  return 1;
}
