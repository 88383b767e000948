// PlainLoop: the peer of the engine. The simplest thing that is good over libllama when the whole
// list is known: rows sorted by group, the prefix of a group computed once and given to its rows by
// llama_memory_seq_cp, waves of `at_once` rows, each prefilled together and decoded side by side.
#pragma once

#include <llama.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/workload.h"

namespace windrow::bench {

struct PlainLoopOptions {
  int at_once = 16;
  int cells = 0;
  int threads = 2;
};

// The work of a run, which shows whether it left something out.
struct PlainWork {
  int64_t prefilled_tokens = 0;
  int64_t generated_tokens = 0;
};

// Used by one thread at a time. Throws std::runtime_error when libllama fails.
class PlainLoop {
 public:
  // `model` must outlive this.
  PlainLoop(llama_model* model, const Shape& shape, const PlainLoopOptions& options);
  ~PlainLoop();
  PlainLoop(const PlainLoop&) = delete;
  PlainLoop& operator=(const PlainLoop&) = delete;

  // The prefixes of the last wave stay for the next run.
  PlainWork run(const std::vector<Row>& rows);

 private:
  struct FreeContext {
    void operator()(llama_context* context) const { llama_free(context); }
  };

  void wave(std::span<const Row* const> rows);
  void bring_prefixes(std::span<const Row* const> rows);
  void add(engine::Token token, int position, int sequence, bool logits);
  void flush();
  engine::Token greedy(int index) const;

  const Shape shape_;
  const PlainLoopOptions options_;
  std::unique_ptr<llama_context, FreeContext> context_;
  int vocabulary_size_ = 0;
  llama_batch batch_{};
  std::vector<engine::Token> last_;  // of each row of the wave: what was sampled for it
  std::map<int, int> prefixes_;      // group, the sequence that holds its prefix
  std::set<int> free_sequences_;     // for prefixes
  PlainWork work_;
};

}  // namespace windrow::bench
