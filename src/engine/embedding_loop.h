// EmbeddingLoop: the embedder without its thread. Work goes in; each call of step() runs one pass;
// vectors come out through each Done. It joins the pure parts (EmbeddingBatch, BudgetSearch) to an
// EmbeddingRunner and decides nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "engine/batch_budget.h"
#include "engine/embedding_batch.h"
#include "engine/embedding_runner.h"
#include "llm/answer.h"
#include "llm/backend.h"

namespace windrow::engine {

struct EmbeddingResult {
  std::vector<std::vector<float>> vectors;  // of each input, as the model gave them
  llm::Timings timings;
};

using EmbeddingOutcome = std::variant<EmbeddingResult, llm::Failure>;

// The inputs of one request, tokenised and checked on the caller's side. They have one outcome: an
// input that fails ends the others with it.
struct EmbeddingWork {
  std::vector<std::vector<Token>> inputs;  // at least one; each has 1 .. input_tokens_max tokens
  TimePoint submitted_at;
  std::function<void(EmbeddingOutcome)> done;  // called exactly once
};

// Used by one thread at a time. Every Done is called from within a method.
class EmbeddingLoop {
 public:
  // How long passes are timed for the budget before the first answer.
  static constexpr Duration kSearchTime = std::chrono::milliseconds(1500);

  // `runner` and `clock` must outlive the loop. With `batch_tokens` passes have so many tokens;
  // without, the best number is measured.
  EmbeddingLoop(EmbeddingRunner& runner, const Clock& clock, std::optional<int32_t> batch_tokens);

  // Cancels what is unfinished.
  ~EmbeddingLoop();
  EmbeddingLoop(const EmbeddingLoop&) = delete;
  EmbeddingLoop& operator=(const EmbeddingLoop&) = delete;

  void add(EmbeddingWork work);

  // Runs one pass, over work or for measuring. False when there was nothing to run.
  bool step();

  // Work that has been in no pass yet, or all.
  void cancel_waiting();
  void cancel_all();

  // rows_waiting and rows_running count inputs.
  llm::BackendStats stats() const;

  // Tokens of a pass: the best so far while it is being measured.
  int32_t batch_tokens() const;

  // The points that decided.
  const std::vector<BudgetPoint>& budget_points() const { return search_.points(); }

 private:
  using WorkId = Id<struct WorkTag>;

  struct Running {
    EmbeddingWork work;
    EmbeddingResult result;
    size_t inputs_left = 0;
    TimePoint started_at;
    bool started = false;
  };

  struct Place {
    WorkId work;
    size_t index = 0;
  };

  bool measure();
  void run(const std::vector<InputId>& pass);
  Result<void> run_model(std::span<const std::span<const Token>> inputs);
  void pass_ran(const std::vector<InputId>& pass);
  void pass_failed(const std::vector<InputId>& pass, const Error& error);
  void take(InputId id, std::span<const float> vector);
  void end(WorkId id, EmbeddingOutcome outcome);
  void end_all(const llm::Failure& failure);
  void fail_for_good(const Error& error);

  EmbeddingRunner& runner_;
  const Clock& clock_;
  const std::optional<int32_t> batch_tokens_;
  BudgetSearch search_;
  EmbeddingBatch batch_;
  std::unordered_map<WorkId, Running> works_;
  std::unordered_map<InputId, Place> places_;  // of inputs that wait or are in a pass
  uint64_t next_id_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t passes_ = 0;
  int failures_in_a_row_ = 0;
  std::string broken_;  // why nothing can run any more; empty while it can
};

}  // namespace windrow::engine
