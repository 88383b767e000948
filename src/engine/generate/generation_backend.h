// GenerationBackend: the engine as an llm::Backend: chats and completions of one model. It does on
// the caller's thread what needs no model, by its PromptMaker. A request that asks for a structure
// waits until that is compiled, beside the engine; its answer is checked beside it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "async/executor.h"
#include "base/clock.h"
#include "base/result.h"
#include "chat/chat_template.h"
#include "engine/generate/engine.h"
#include "engine/generate/fan_out.h"
#include "engine/generate/model_tokenizer.h"
#include "engine/generate/prompt_maker.h"
#include "engine/host/model_runner.h"
#include "engine/host/vocabulary.h"
#include "engine/structure/structure_cache.h"
#include "llm/backend.h"
#include "llm/pending_requests.h"

namespace windrow::engine {

struct GenerationOptions {
  // How long one forward pass should take, as far as prompts make it long: long for throughput,
  // short for latency. `lone_step_target`: where one row has the step to itself; absent: the same.
  Duration step_target = std::chrono::seconds(2);
  std::optional<Duration> lone_step_target;

  // The limit of a request that names none. Answers are always capped by the context that is left.
  int32_t output_tokens_default = 4096;

  // How much of the longest answer reasoning may take before a required call, in percent; a request
  // may name a number of tokens instead.
  int32_t call_reasoning_percent = 50;

  // For a request that does not choose.
  llm::UnknownWords schema_unknown = llm::UnknownWords::kAnnotate;

  // The date for chat templates that ask for it; absent: when the backend was made.
  std::optional<int64_t> date_unix_s;

  SamplingThreads sampling_threads = {.count = 0};
  queueing::ReserveOptions reserve;  // of rows and of the model's memory, for higher priorities
  MaskFilling mask_filling;
  StructureLimits structure_limits;

  // Whether prompts are likely to come that begin with what was computed, answers included: chats
  // do, the rows of a file do not.
  bool keep = false;

  llm::StepObserver on_step;  // called on the device thread
  llm::RowObserver on_rows;   // likewise; empty: rows are not traced

  StartWindow start;
};

class GenerationBackend final : public llm::Backend {
 public:
  // `vocabulary` and `clock` must outlive the backend. `chat_template` is an error for models that
  // have none or one that cannot be used; its text then answers every chat request. One backend
  // knows one date, so that one job has one. `thread` as in Engine.
  GenerationBackend(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
                    Result<chat::ChatTemplate> chat_template, const Clock& clock,
                    const GenerationOptions& options,
                    std::shared_ptr<DeviceThread> thread = nullptr);
  ~GenerationBackend() override;

  // What the model will see of a request, or what submit would refuse at once, but for its
  // structure. For counting and
  // checking before a job; submit does the same.
  std::variant<Prompts, llm::Failure> prompts(const llm::Request& request) const;

  // Why its structure, if it asks for one or for calls, cannot be enforced. Waits until that is
  // compiled.
  std::optional<llm::Failure> structure_fault(const llm::Request& request);

  // How long one of its answers may become, after a prompt of that many tokens.
  int32_t output_tokens_max(const llm::Request& request, size_t prompt_tokens) const;

  const RunnerLimits& limits() const { return engine_.limits(); }

  const llm::Tokenizer& tokenizer() const { return tokenizer_; }

  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request& request) override;
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) override;
  std::unique_ptr<llm::PrefixHold> hold(std::vector<Token> tokens) override {
    return engine_.hold(std::move(tokens));
  }
  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override;
  llm::BackendStats stats() const override;

 private:
  std::optional<llm::Failure> too_much(const llm::Request& request, const Prompts& prompts) const;
  std::optional<llm::Failure> no_call_possible(const llm::Request& request) const;
  Done check_structure(std::shared_ptr<const Structure> structure, std::stop_token unwanted,
                       Done done);
  StructureCache::Made make_structure_for(const llm::StructureSpec& spec,
                                          const grammar::GiveUp& give_up);
  StructureCache::Made make_calls_for(const llm::StructureSpec& spec,
                                      const grammar::GiveUp& give_up);
  std::optional<llm::StructureSpec> structure_of(const llm::Request& request) const;
  static llm::Failure not_enforceable(const llm::StructureSpec& spec, const Error& error);

  // A call whose prompts are made.
  struct Prepared {
    llm::BackendCall call;
    Prompts prompts;
    TimePoint submitted_at;
    Done done;
  };
  void structure_made(llm::PendingId id, const llm::StructureSpec& spec, TimePoint submitted_at,
                      const StructureCache::Made& made);
  std::optional<int32_t> reasoning_tokens_max(const Prepared& prepared) const;
  void run(Prepared prepared, std::shared_ptr<const AnswerForm> form);

  const Vocabulary& vocabulary_;
  const Clock& clock_;
  const GenerationOptions options_;
  const ModelTokenizer tokenizer_;
  const PromptMaker prompt_maker_;

  std::once_flag tables_made_;
  VocabularyTables tables_;
  std::once_flag call_tables_made_;
  CallTables call_tables_;

  llm::PendingRequests pending_;  // their structures are being compiled

  // In this order: what comes later uses what is above it until it has ended.
  async::Executor checks_{1, async::Executor::Start::kWithFirstTask};
  Engine engine_;
  StructureCache structures_;
};

}  // namespace windrow::engine
