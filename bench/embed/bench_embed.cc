// bench_embed: the embedding backend beside plain libllama, in turns within one run: one text at a
// time, and packed batches of 1 to 256 texts, of which the best is the peer. All share the weights'
// file; each side has a context of its own. The vectors are compared too.
#include <fmt/format.h>
#include <llama.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <stdexcept>
#include <vector>

#include "base/clock.h"
#include "engine/embed/embedding_backend.h"
#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow {
namespace {

using engine::Token;

struct Shape {
  int texts = 400;
  int tokens_min = 5;
  int tokens_max = 40;
  int pairs = 3;
  int inputs_per_request = 1;
  bool sorted = false;  // by length: what bringing equal lengths together would give
};

std::vector<std::vector<Token>> make_texts(const Shape& shape, int vocabulary) {
  std::vector<std::vector<Token>> texts;
  for (int i = 0; i < shape.texts; ++i) {
    const int length = shape.tokens_min + (i * 7919) % (shape.tokens_max - shape.tokens_min + 1);
    std::vector<Token> text;
    for (int j = 0; j < length; ++j)
      text.push_back(100 + (i * 31 + j * 17) % (vocabulary - 200));
    texts.push_back(std::move(text));
  }
  if (shape.sorted) {
    std::sort(texts.begin(), texts.end(),
              [](const auto& a, const auto& b) { return a.size() < b.size(); });
  }
  return texts;
}

std::vector<float> unit(const float* numbers, int width) {
  std::vector<float> vector(numbers, numbers + width);
  double squares = 0;
  for (const float x : vector)
    squares += static_cast<double>(x) * static_cast<double>(x);
  for (float& x : vector)
    x = static_cast<float>(static_cast<double>(x) / std::sqrt(squares));
  return vector;
}

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// Batches of so many texts, whatever their lengths, each batch one graph run.
class PlainBatches {
 public:
  PlainBatches(llama_model* model, const std::vector<std::vector<Token>>& texts, int at_once,
               int threads)
      : texts_(texts), at_once_(static_cast<size_t>(at_once)) {
    size_t tokens_max = 0;
    for (size_t first = 0; first < texts.size(); first += at_once_) {
      size_t tokens = 0;
      for (size_t i = first; i < std::min(first + at_once_, texts.size()); ++i)
        tokens += texts[i].size();
      tokens_max = std::max(tokens_max, tokens);
    }
    llama_context_params params = llama_context_default_params();
    params.embeddings = true;
    if (llama_model_has_decoder(model)) params.kv_unified = true;
    // A multiple of every number of sequences: libllama dies of others.
    const size_t batch = (std::max<size_t>(tokens_max, 512) + 255) / 256 * 256;
    params.n_ctx = params.n_batch = params.n_ubatch = static_cast<uint32_t>(batch);
    params.n_seq_max = static_cast<uint32_t>(at_once);
    params.n_threads = params.n_threads_batch = threads;
    context_ = llama_init_from_model(model, params);
    if (context_ == nullptr) throw std::runtime_error("libllama makes no context");
    if (llama_pooling_type(context_) == LLAMA_POOLING_TYPE_NONE) {
      llama_free(context_);
      params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
      context_ = llama_init_from_model(model, params);
    }
    width_ = llama_model_n_embd(model);
    batch_ = llama_batch_init(static_cast<int32_t>(params.n_batch), 0, 1);
  }
  ~PlainBatches() {
    llama_batch_free(batch_);
    llama_free(context_);
  }
  PlainBatches(const PlainBatches&) = delete;
  PlainBatches& operator=(const PlainBatches&) = delete;

  std::vector<std::vector<float>> run() {
    std::vector<std::vector<float>> vectors;
    llama_memory_t memory = llama_get_memory(context_);
    for (size_t first = 0; first < texts_.size(); first += at_once_) {
      const size_t count = std::min(at_once_, texts_.size() - first);
      batch_.n_tokens = 0;
      for (size_t i = 0; i < count; ++i)
        add(texts_[first + i], static_cast<int32_t>(i));
      if (memory != nullptr) llama_memory_clear(memory, false);
      const int code =
          memory == nullptr ? llama_encode(context_, batch_) : llama_decode(context_, batch_);
      if (code != 0) throw std::runtime_error("libllama failed");
      for (size_t i = 0; i < count; ++i) {
        vectors.push_back(
            unit(llama_get_embeddings_seq(context_, static_cast<int32_t>(i)), width_));
      }
    }
    return vectors;
  }

 private:
  void add(const std::vector<Token>& text, int32_t sequence) {
    for (size_t j = 0; j < text.size(); ++j) {
      const int32_t i = batch_.n_tokens++;
      batch_.token[i] = text[j];
      batch_.pos[i] = static_cast<int32_t>(j);
      batch_.n_seq_id[i] = 1;
      batch_.seq_id[i][0] = sequence;
      batch_.logits[i] = 1;
    }
  }

  const std::vector<std::vector<Token>>& texts_;
  const size_t at_once_;
  llama_context* context_ = nullptr;
  int width_ = 0;
  llama_batch batch_{};
};

// Through the backend's own door, all requests submitted at once.
std::vector<std::vector<float>> run_backend(engine::EmbeddingBackend& backend,
                                            const std::vector<std::vector<Token>>& texts,
                                            const Shape& shape) {
  const auto per_request = static_cast<size_t>(shape.inputs_per_request);
  std::vector<std::future<llm::Outcome>> outcomes;
  for (size_t first = 0; first < texts.size(); first += per_request) {
    llm::Request request{.endpoint = llm::Endpoint::kEmbeddings};
    for (size_t i = first; i < std::min(first + per_request, texts.size()); ++i)
      request.inputs.push_back({.tokens = texts[i]});
    auto promise = std::make_shared<std::promise<llm::Outcome>>();
    outcomes.push_back(promise->get_future());
    backend.submit(llm::plain_call(std::move(request)),
                   [promise](llm::Outcome outcome) { promise->set_value(std::move(outcome)); });
  }
  std::vector<std::vector<float>> vectors;
  for (std::future<llm::Outcome>& outcome : outcomes) {
    llm::Outcome done = outcome.get();
    auto* answer = std::get_if<llm::Answer>(&done);
    if (answer == nullptr) throw std::runtime_error(std::get<llm::Failure>(done).message);
    for (std::vector<float>& vector : answer->embeddings)
      vectors.push_back(std::move(vector));
  }
  return vectors;
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

// Waits until the budget is measured: an answer comes after that.
void wait_until_ready(engine::EmbeddingBackend& backend) {
  run_backend(backend, {{100, 101}}, {});
}

int run(const std::string& path, const Shape& shape, int threads) {
  const auto library = engine::LlamaLibrary::start("").value();
  const auto model = engine::LlamaModel::load(*library, path, {}).value();
  auto runner = model->make_embedding_runner({.threads = threads});
  if (!runner) throw std::runtime_error(runner.error().message);
  llama_model* raw = llama_model_load_from_file(path.c_str(), llama_model_default_params());
  if (raw == nullptr) throw std::runtime_error("libllama cannot load the model twice");
  const SystemClock clock;
  const auto texts = make_texts(shape, model->vocabulary().size());
  {
    engine::EmbeddingBackend backend(*std::move(runner), model->vocabulary(), model->pair_format(),
                                     clock, {});
    wait_until_ready(backend);
    const engine::BudgetReport budget = backend.budget();
    fmt::print("{} texts of {} to {} tokens, {} threads\nbudget: {} tokens a pass, of", shape.texts,
               shape.tokens_min, shape.tokens_max, threads, budget.batch_tokens);
    for (const engine::BudgetPoint& point : budget.points)
      fmt::print(" {}:{:.0f}/s", point.tokens, engine::tokens_per_second(point));
    fmt::print("\n");
    std::vector<double> to_best;
    std::vector<double> to_single;
    double worst_cosine = 1;
    for (int pair = 0; pair < shape.pairs; ++pair) {
      double best = 0;
      double single = 0;
      int best_at_once = 0;
      std::vector<std::vector<float>> single_vectors;
      fmt::print("plain:");
      for (const int at_once : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
        PlainBatches plain(raw, texts, at_once, threads);
        std::vector<std::vector<float>> vectors;
        const double rate = shape.texts / timed(clock, [&] { vectors = plain.run(); });
        fmt::print(" {}:{:.0f}", at_once, rate);
        if (at_once == 1) {
          single = rate;
          single_vectors = std::move(vectors);
        }
        if (rate > best) {
          best = rate;
          best_at_once = at_once;
        }
      }
      std::vector<std::vector<float>> vectors;
      const double rate =
          shape.texts / timed(clock, [&] { vectors = run_backend(backend, texts, shape); });
      for (size_t i = 0; i < vectors.size(); ++i)
        worst_cosine = std::min(worst_cosine, cosine(vectors[i], single_vectors[i]));
      to_best.push_back(rate / best);
      to_single.push_back(rate / single);
      fmt::print("   backend {:.0f} texts/s: {:.2f} of the best ({} texts), {:.2f} of one by one\n",
                 rate, to_best.back(), best_at_once, to_single.back());
    }
    fmt::print(
        "backend/best {:.2f} (target 0.9), backend/one by one {:.2f} (target 1.8), worst "
        "cosine {:.7f}\n",
        median(to_best), median(to_single), worst_cosine);
  }
  llama_model_free(raw);
  return 0;
}

}  // namespace
}  // namespace windrow

int main(int argc, char** argv) try {
  CLI::App app("The embedding backend beside plain libllama, one by one and in batches.");
  std::string path;
  windrow::Shape shape;
  int threads = 2;
  app.add_option("model", path, "a GGUF file")->required();
  app.add_option("--texts", shape.texts);
  app.add_option("--tokens-min", shape.tokens_min);
  app.add_option("--tokens-max", shape.tokens_max);
  app.add_option("--pairs", shape.pairs);
  app.add_option("--inputs", shape.inputs_per_request, "texts of one request");
  app.add_flag("--sorted", shape.sorted, "texts in order of their lengths");
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  return windrow::run(path, shape, threads);
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_embed: {}\n", error.what());
  return 1;
}
