// GenerationBackend: the engine as an llm::Backend: chats and completions of one model. It does on
// the caller's thread what needs no model, by its PromptMaker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "chat/chat_template.h"
#include "engine/engine.h"
#include "engine/model_runner.h"
#include "engine/prompt_maker.h"
#include "engine/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

struct GenerationOptions {
  // How long one forward pass should take: long for throughput, short for those who wait.
  Duration step_target = std::chrono::seconds(2);

  // Of a request that names no limit itself; always capped by the context that is left.
  int32_t output_tokens_default = 4096;

  // What templates that ask for the date are told; absent: the moment the backend is made.
  std::optional<int64_t> date_unix_s;

  SamplingThreads sampling_threads = {.count = 0};

  // Whether prompts are likely to come that begin with what was computed, answers included: chats
  // do, the rows of a file do not.
  bool keep = false;
};

class GenerationBackend final : public llm::Backend {
 public:
  // `vocabulary` and `clock` must outlive the backend. `chat_template` is an error for models that
  // have none or one that cannot be used; its text then answers every chat request. One backend
  // knows one date, so that one job has one.
  GenerationBackend(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
                    Result<chat::ChatTemplate> chat_template, const Clock& clock,
                    const GenerationOptions& options);

  // What the model will see of a request, or what submit would refuse at once. For counting and
  // checking before a job; submit does the same.
  std::variant<Prompts, llm::Failure> prompts(const llm::Request& request) const;

  // How long one of its answers may become, after a prompt of that many tokens.
  int32_t output_tokens_max(const llm::Request& request, size_t prompt_tokens) const;

  const RunnerLimits& limits() const { return engine_.limits(); }

  void submit(llm::Request request, Done done) override;
  void cancel_waiting() override { engine_.cancel_waiting(); }
  void cancel_all() override { engine_.cancel_all(); }
  int32_t in_flight_target() const override;
  llm::BackendStats stats() const override { return engine_.stats(); }

 private:
  std::optional<llm::Failure> too_much(const llm::Request& request, const Prompts& prompts) const;
  Done split_reasoning(std::string chat_end, Done done) const;

  const Vocabulary& vocabulary_;
  const Clock& clock_;
  const GenerationOptions options_;
  const PromptMaker prompt_maker_;
  const std::vector<Token> shown_tokens_;  // in the answers to chats
  Engine engine_;
};

}  // namespace windrow::engine
