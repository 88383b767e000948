// EmbeddedBackend: the engine as an llm::Backend. It does on the caller's thread what needs no
// model: the chat format, tokenising, the limits.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/chat_format.h"
#include "engine/engine.h"
#include "engine/model_runner.h"
#include "engine/vocabulary.h"
#include "llm/backend.h"

namespace windrow::engine {

struct EmbeddedOptions {
  // How long one forward pass should take: long for throughput, short for those who wait.
  Duration step_target = std::chrono::seconds(2);

  // Of a request that names no limit itself; always capped by the context that is left.
  int32_t output_tokens_default = 4096;

  SamplingThreads sampling_threads = {.count = 0};
};

class EmbeddedBackend final : public llm::Backend {
 public:
  // `vocabulary` and `clock` must outlive the backend. `chat_format` is an error for models whose
  // format is not known; its text then answers every chat request.
  EmbeddedBackend(std::unique_ptr<ModelRunner> runner, const Vocabulary& vocabulary,
                  Result<ChatFormat> chat_format, const Clock& clock,
                  const EmbeddedOptions& options);

  // The tokens of a request's prompt as the model will see them, or what submit would refuse at
  // once. For counting and checking before a job; submit does the same.
  std::variant<std::vector<Token>, llm::Failure> prompt_tokens(const llm::Request& request) const;

  const RunnerLimits& limits() const { return engine_.limits(); }

  void submit(llm::Request request, Done done) override;
  void cancel_waiting() override { engine_.cancel_waiting(); }
  void cancel_all() override { engine_.cancel_all(); }
  int32_t in_flight_target() const override;
  llm::BackendStats stats() const override { return engine_.stats(); }

 private:
  Result<std::vector<PromptPart>> prompt_parts(const llm::Request& request) const;
  std::vector<Token> tokens_of(const llm::Request& request,
                               const std::vector<PromptPart>& parts) const;
  std::optional<llm::Failure> check_bytes(const llm::Request& request,
                                          const std::vector<PromptPart>& parts) const;
  std::optional<llm::Failure> check_length(const llm::Request& request, size_t prompt_tokens) const;
  llm::Failure too_long(const llm::Request& request, std::string_view count) const;
  void append_tokens(std::string_view text, ControlTokens control,
                     std::vector<Token>& tokens) const;
  std::optional<Token> control_token(std::string_view text) const;

  const Vocabulary& vocabulary_;
  const Result<ChatFormat> chat_format_;
  const Clock& clock_;
  const EmbeddedOptions options_;
  Engine engine_;
};

}  // namespace windrow::engine
