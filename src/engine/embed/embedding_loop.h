// EmbeddingLoop: the embedder without its thread. Work goes in; each call of step() runs one pass;
// vectors come out through each Done. It connects the pure parts (EmbeddingBatch, BudgetSearch,
// batching_delay_policy.h) to an EmbeddingRunner and decides nothing itself.
//
// Equal inputs that wait at the same time are computed once, also across requests: clients embed
// the same text several times within a moment (a fact is embedded, looked up, and stored).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "engine/embed/batch_budget.h"
#include "engine/embed/batching_delay_policy.h"
#include "engine/embed/embedding_batch.h"
#include "engine/host/embedding_runner.h"
#include "engine/host/round_robin.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/priority.h"
#include "llm/step_report.h"

namespace windrow::engine {

struct EmbeddingResult {
  std::vector<std::vector<float>> vectors;  // one for each input, as the model gave it
  llm::Timings timings;
};

using EmbeddingOutcome = std::variant<EmbeddingResult, llm::Failure>;

// The inputs of one request, tokenised and checked by the caller. They have one outcome: a failed
// input ends the others too.
struct EmbeddingWork {
  std::vector<std::vector<Token>> inputs;  // at least one; each has 1 .. input_tokens_max tokens
  TimePoint submitted_at;
  llm::Priority priority = llm::Priority::kNormal;

  // As llm::BackendCall's: once stopped, it ends with kCancelled before the next pass; `withdrawn`
  // only while none of its inputs has been in a pass.
  std::stop_token withdrawn;
  std::stop_token unwanted;
  std::function<void(EmbeddingOutcome)> done;  // called exactly once
};

struct EmbeddingOptions {
  std::optional<int32_t> batch_tokens;  // of one pass; absent: measured
  BatchingDelay batching_delay;

  // The number of requests known to be coming, such as a server is reading. Called between passes
  // on the device thread. Empty: unknown.
  std::function<int64_t()> arriving;

  llm::StepObserver on_step;  // after each pass but those for measuring; may be empty
};

// Used by one thread at a time. Every Done is called from within a method.
class EmbeddingLoop {
 public:
  // How long passes are timed for the budget before the first answer.
  static constexpr Duration kSearchTime = std::chrono::milliseconds(1500);

  // `runner` and `clock` must outlive the loop.
  EmbeddingLoop(EmbeddingRunner& runner, const Clock& clock, EmbeddingOptions options = {});

  // Cancels what is unfinished.
  ~EmbeddingLoop();
  EmbeddingLoop(const EmbeddingLoop&) = delete;
  EmbeddingLoop& operator=(const EmbeddingLoop&) = delete;

  void add(EmbeddingWork work);

  // Runs one pass, over work or for measuring; or none, when there is nothing to run or the
  // batching delay is not over. A pass keeps to `turn`, unless a single input is too long for it.
  Next step(const Turn& turn = {});

  // Ends all work with kCancelled.
  void cancel_all();

  // Ends all work with a failure: memory ran out, and it is unknown for which request.
  void end_out_of_memory();

  // rows_waiting and rows_running count inputs; cached_tokens counts tokens of inputs that were not
  // computed because an equal one was.
  llm::BackendStats stats() const;

  // Tokens of a pass; while that is being measured, the best value so far.
  int32_t batch_tokens() const;

  // The measurements that decided batch_tokens().
  const std::vector<BudgetPoint>& budget_points() const { return search_.points(); }

 private:
  struct Running {
    EmbeddingWork work;  // its inputs are moved to where they are computed
    std::vector<InputId> inputs;
    EmbeddingResult result;
    size_t inputs_left = 0;
    int32_t tokens_computed = 0;
    TimePoint started_at;
    bool started = false;
  };

  // An input of a request, for which a vector is computed.
  struct Use {
    WorkId work;
    size_t index = 0;
  };

  // A distinct input that waits or is in a pass.
  struct Input {
    std::vector<Token> tokens;
    uint64_t hash = 0;
    std::vector<Use> uses;  // never empty
  };

  void add_input(std::vector<Token> tokens, const Use& use);
  bool measure(const Turn& turn);
  EmbeddingBatch::Budget budget(const Turn& turn) const;
  DelayDecision decide_now(const Turn& turn, const EmbeddingBatch::Budget& budget) const;
  void run(const std::vector<InputId>& pass, llm::StepReason reason);
  Result<void> run_model(std::span<const std::span<const Token>> inputs);
  void pass_ran(const std::vector<InputId>& pass, llm::StepReason reason, Duration duration);
  void pass_failed(const std::vector<InputId>& pass, const Error& error);
  void take(InputId id, std::span<const float> vector);
  void give(const Use& use, int32_t tokens, std::span<const float> vector);
  static llm::Failure with_usage(llm::Failure failure, const Running& running);
  void end(WorkId id, EmbeddingOutcome outcome);
  void end_all(const llm::Failure& failure);
  void end_cancelled();
  void leave(const Running& running, WorkId id);
  Input extract(InputId id);
  void fail_for_good(const Error& error);

  EmbeddingRunner& runner_;
  const Clock& clock_;
  const EmbeddingOptions options_;
  BudgetSearch search_;
  PassTime pass_time_;
  ArrivalTimes arrivals_;
  EmbeddingBatch batch_;
  std::unordered_map<WorkId, Running> works_;
  std::unordered_map<InputId, Input> inputs_;
  std::unordered_multimap<uint64_t, InputId> by_hash_;
  bool ran_ = false;  // a pass, and there has been no turn without one since
  bool has_waited_ = false;
  uint64_t next_id_ = 0;
  int64_t prompt_tokens_ = 0;
  int64_t cached_tokens_ = 0;
  int64_t passes_ = 0;
  int32_t inputs_waiting_ = 0;
  int failures_in_a_row_ = 0;
  std::string broken_;  // why no pass can run any more; empty: passes can run
};

}  // namespace windrow::engine
