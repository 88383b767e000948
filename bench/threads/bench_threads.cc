// bench_threads: what a forward pass costs by the number of libllama's threads, beside other
// threads that want the cores now and then, as those of an HTTP server do. One setting of the
// OpenMP runtime a run, because it reads that when it is loaded; policies.py runs all of them in
// turns.
#include <dlfcn.h>
#include <fmt/format.h>
#include <llama.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "engine/llama/llama_library.h"

namespace windrow::bench {
namespace {

using Ticks = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::vector<int> rows = {1, 8, 32};
  std::vector<int> threads = {1, 2};
  std::vector<int> neighbours = {0, 1, 2};
  int prompt_tokens = 32;
  int prefill_tokens = 0;  // not 0: measure prompts of so many tokens, not decoding
  int cells = 0;
  int ubatch = 512;
  int idle_cells = 0;
  double seconds = 2;
  int burst_us = 200;
  int pause_us = 600;
  bool split = false;
  bool throttle = false;
  std::string flash = "auto";
  std::string kv_type = "f16";
};

template <auto free>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};
using Model = std::unique_ptr<llama_model, Free<llama_model_free>>;
using Context = std::unique_ptr<llama_context, Free<llama_free>>;

ggml_type kv_type_of(const std::string& name) {
  if (name == "f32") return GGML_TYPE_F32;
  if (name == "q8_0") return GGML_TYPE_Q8_0;
  return GGML_TYPE_F16;
}

llama_flash_attn_type flash_of(const std::string& name) {
  if (name == "on") return LLAMA_FLASH_ATTN_TYPE_ENABLED;
  if (name == "off") return LLAMA_FLASH_ATTN_TYPE_DISABLED;
  return LLAMA_FLASH_ATTN_TYPE_AUTO;
}

// More threads of libgomp than cores, which then all spin briefly: it is how it throttles itself.
class Throttle {
 public:
  Throttle() {
    using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
    const auto parallel = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
    if (parallel == nullptr) throw std::runtime_error("there is no libgomp");
    std::atomic<bool> ready = false;
    thread_ = std::jthread([&ready, parallel](const std::stop_token& stop) {
      parallel([](void*) {}, nullptr, std::thread::hardware_concurrency() + 1, 0);
      ready = true;
      ready.notify_one();
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait(lock, stop, [] { return false; });
    });
    ready.wait(false);
  }

 private:
  std::jthread thread_;
};

double ms_since(Ticks::time_point start) {
  return std::chrono::duration<double, std::milli>(Ticks::now() - start).count();
}

// Works for a while, rests for a while, each twice as long at most.
class Neighbours {
 public:
  Neighbours(int count, const Options& options) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, options, i](const std::stop_token& stop) {
        Random random(static_cast<uint64_t>(i + 1));
        while (!stop.stop_requested()) {
          const auto start = Ticks::now();
          const auto burst = std::chrono::microseconds(random.between(1, 2 * options.burst_us));
          while (Ticks::now() - start < burst)
            ++spins_;
          ++bursts_;
          late_us_ += static_cast<int64_t>(
              1000 * ms_since(start) -
              static_cast<double>(
                  std::chrono::duration_cast<std::chrono::microseconds>(burst).count()));
          std::mutex mutex;
          std::condition_variable_any never;
          std::unique_lock lock(mutex);
          never.wait_for(lock, stop,
                         std::chrono::microseconds(random.between(1, 2 * options.pause_us)),
                         [] { return false; });
        }
      });
  }

  // By how much the work took longer than alone.
  double late_us() const {
    return bursts_ == 0 ? 0 : static_cast<double>(late_us_) / static_cast<double>(bursts_);
  }

 private:
  std::atomic<int64_t> spins_ = 0;
  std::atomic<int64_t> bursts_ = 0;
  std::atomic<int64_t> late_us_ = 0;
  std::vector<std::jthread> threads_;
};

class Steps {
 public:
  Steps(llama_model* model, const Options& options, int rows, int threads)
      : options_(options),
        rows_(rows),
        vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model))) {
    const int row_tokens =
        options.prefill_tokens > 0 ? options.prefill_tokens : options.prompt_tokens + kDecodedMax;
    const int row_cells = (row_tokens + 255) / 256 * 256;
    const int sequences = rows + (options.idle_cells > 0 ? 1 : 0);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(options.cells > 0 ? options.cells
                                                           : rows * row_cells + options.idle_cells);
    params.n_batch = 2048;
    params.n_ubatch = static_cast<uint32_t>(options.ubatch);
    params.n_seq_max = static_cast<uint32_t>(sequences);
    params.kv_unified = !options.split;
    params.n_threads = params.n_threads_batch = threads;
    params.flash_attn_type = flash_of(options.flash);
    params.type_k = params.type_v = kv_type_of(options.kv_type);
    params.no_perf = true;
#if WINDROW_HAVE_N_OUTPUTS_MAX
    params.n_outputs_max = static_cast<uint32_t>(std::max(sequences, rows));
#endif
    context_.reset(llama_init_from_model(model, params));
    if (context_ == nullptr) throw std::runtime_error("libllama makes no context");
    batch_ = llama_batch_init(2048, 0, 1);
    if (options.idle_cells > 0) prefill(rows, options.idle_cells);
  }
  ~Steps() { llama_batch_free(batch_); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Milliseconds of each pass, for about so long.
  std::vector<double> measure() {
    std::vector<double> times;
    const auto start = Ticks::now();
    if (options_.prefill_tokens > 0) {
      while (times.size() < 2 || ms_since(start) < options_.seconds * 1000) {
        clear();
        const auto pass = Ticks::now();
        for (int row = 0; row < rows_; ++row)
          add_prompt(row, options_.prefill_tokens);
        decode();
        times.push_back(ms_since(pass));
      }
      return times;
    }
    clear();
    for (int row = 0; row < rows_; ++row)
      prefill(row, options_.prompt_tokens);
    const auto decoding = Ticks::now();
    for (int i = 0; i < kDecodedMax; ++i) {
      if (i > 2 && ms_since(decoding) > options_.seconds * 1000) break;
      const auto pass = Ticks::now();
      for (int row = 0; row < rows_; ++row)
        add(token(), options_.prompt_tokens + i, row, true);
      decode();
      times.push_back(ms_since(pass));
    }
    return times;
  }

 private:
  static constexpr int kDecodedMax = 200;

  void clear() {
    for (int row = 0; row < rows_; ++row)
      llama_memory_seq_rm(llama_get_memory(context_.get()), row, -1, -1);
  }

  llama_token token() {
    return static_cast<llama_token>(random_.below(static_cast<uint64_t>(vocabulary_)));
  }

  void add(llama_token token, int position, int row, bool output) {
    const int i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = position;
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = row;
    batch_.logits[i] = output ? 1 : 0;
  }

  void add_prompt(int row, int tokens) {
    for (int i = 0; i < tokens; ++i) {
      if (batch_.n_tokens == 2048) decode();
      add(token(), i, row, i + 1 == tokens);
    }
  }

  void prefill(int row, int tokens) {
    add_prompt(row, tokens);
    decode();
  }

  void decode() {
    if (llama_decode(context_.get(), batch_) != 0) throw std::runtime_error("libllama fails");
    batch_.n_tokens = 0;
  }

  const Options& options_;
  const int rows_;
  const int vocabulary_;
  Random random_{1};
  Context context_;
  llama_batch batch_{};
};

double at(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
}

int run(const Options& options) {
  const auto library = engine::LlamaLibrary::start("");
  if (!library) throw std::runtime_error(library.error().message);
  const Model model(
      llama_model_load_from_file(options.model.c_str(), llama_model_default_params()));
  if (model == nullptr) throw std::runtime_error("libllama cannot load " + options.model);
  std::optional<Throttle> throttle;
  if (options.throttle) throttle.emplace();
  for (const int rows : options.rows) {
    for (const int threads : options.threads) {
      Steps steps(model.get(), options, rows, threads);
      for (const int count : options.neighbours) {
        const Neighbours neighbours(count, options);
        const std::vector<double> times = steps.measure();
        double sum = 0;
        for (const double time : times)
          sum += time;
        fmt::print(
            R"({{"rows": {}, "threads": {}, "neighbours": {}, "passes": {}, "mean_ms": {:.4g}, )"
            R"("p50_ms": {:.4g}, "p99_ms": {:.4g}, "neighbour_late_us": {:.4g}}})"
            "\n",
            rows, threads, count, times.size(), sum / static_cast<double>(times.size()),
            at(times, 0.5), at(times, 0.99), neighbours.late_us());
        std::fflush(stdout);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace windrow::bench

int main(int argc, char** argv) {
  windrow::bench::Options options;
  CLI::App app("Forward passes by threads, beside threads that want the cores now and then.");
  app.add_option("model", options.model, "a GGUF file")->required();
  app.add_option("--rows", options.rows, "that decode; several: one after the other")
      ->delimiter(',');
  app.add_option("--threads", options.threads, "of libllama")->delimiter(',');
  app.add_option("--neighbours", options.neighbours, "other threads")->delimiter(',');
  app.add_option("--prompt", options.prompt_tokens, "tokens of each row before it decodes");
  app.add_option("--prefill", options.prefill_tokens,
                 "measure prompts of so many tokens a row instead");
  app.add_option("--cells", options.cells, "of the context; default: for these rows");
  app.add_option("--ubatch", options.ubatch, "tokens of a graph run");
  app.add_option("--idle-cells", options.idle_cells, "cells below those of the rows, of nobody");
  app.add_option("--seconds", options.seconds, "of each measurement");
  app.add_option("--burst-us", options.burst_us, "a neighbour's work at a time, on average");
  app.add_option("--pause-us", options.pause_us, "and its pause");
  app.add_flag("--split", options.split, "each row has its own part of the cache");
  app.add_flag("--throttle", options.throttle, "libgomp's waiting threads spin briefly");
  app.add_option("--flash", options.flash)->check(CLI::IsMember({"auto", "on", "off"}));
  app.add_option("--kv-type", options.kv_type)->check(CLI::IsMember({"f32", "f16", "q8_0"}));
  CLI11_PARSE(app, argc, argv);
  try {
    return windrow::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_threads: {}\n", error.what());
    return 1;
  }
}
