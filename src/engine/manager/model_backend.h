// ModelBackend: one model behind the llm::Backend interface, whatever is asked of it. Generating
// and embedding need contexts of their own, because they use the model's memory differently, and
// most jobs need one of the two: each is opened when it is first asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "async/executor.h"
#include "base/result.h"
#include "engine/embed/embedding_backend.h"
#include "engine/generate/generation_backend.h"
#include "engine/manager/early_holds.h"
#include "llm/backend.h"
#include "llm/pending_requests.h"

namespace windrow::engine {

struct ModelKinds {
  // Open a context and what runs on it. Called once at most, and again after a failure.
  std::function<Result<std::unique_ptr<GenerationBackend>>()> generation;
  std::function<Result<std::unique_ptr<EmbeddingBackend>>()> embedding;

  // Why the model cannot generate (it is an encoder); empty: it can.
  std::string no_generation;

  // Requests do not wait in submit until what they need is open, but beside it: for a server, whose
  // threads serve other requests meanwhile.
  bool open_aside = false;
};

// What a request would bring to the model.
struct MeasuredPrompts {
  std::vector<std::vector<Token>> prompts;
  int64_t output_tokens_max = 0;  // of all its answers together
};

// What is open of a model, by its limits.
struct OpenKinds {
  std::optional<RunnerLimits> generation;
  std::optional<EmbeddingLimits> embedding;
};

// Thread-safe.
class ModelBackend final : public llm::Backend {
 public:
  explicit ModelBackend(ModelKinds kinds);
  ~ModelBackend() override;

  // What submit would refuse at once, or what it would run. Opens what the request needs.
  std::variant<MeasuredPrompts, llm::Failure> measure(const llm::Request& request);

  // Opens what requests of this kind need, before one comes. As measure, why that cannot be.
  std::optional<llm::Failure> prepare(llm::Endpoint endpoint);

  OpenKinds open_kinds() const;

  // Nothing while what the request needs is not open.
  std::shared_ptr<const llm::ReadAhead> read_ahead(const llm::Request& request) override;
  std::variant<int64_t, llm::Failure> count_prompt(const llm::Request& request) override;

  // Begins when what generates is open, if it is not yet.
  std::unique_ptr<llm::PrefixHold> hold(std::vector<Token> tokens) override;

  // Opens what the request needs, which takes as long as it takes, on the caller's thread or aside.
  // When that fails the request ends with kBackend. A request for what is open already does not
  // wait.
  void submit(llm::BackendCall call, Done done) override;

  // Of what is open; it grows when more is opened.
  int32_t in_flight_target() const override;
  llm::BackendStats stats() const override;

 private:
  std::variant<GenerationBackend*, llm::Failure> generation();
  std::variant<EmbeddingBackend*, llm::Failure> embedding();
  std::variant<llm::Backend*, llm::Failure> backend_for(llm::Endpoint endpoint);
  std::vector<llm::Backend*> open_backends() const;
  llm::Backend* find_open(llm::Endpoint endpoint) const;
  llm::PendingRequests& pending_for(llm::Endpoint endpoint);
  bool wait_aside(llm::BackendCall& call, Done& done);
  void open_for_pending(llm::Endpoint endpoint);

  const ModelKinds kinds_;
  std::mutex opening_;        // held while one is opened; never with `mutex_` waited for
  mutable std::mutex mutex_;  // for the three below
  std::unique_ptr<GenerationBackend> generation_;  // both only go from empty to open
  std::unique_ptr<EmbeddingBackend> embedding_;
  EarlyHolds early_holds_;  // empty once the first one is open

  // Calls that wait until the one, or the other, is open.
  llm::PendingRequests pending_generation_;
  llm::PendingRequests pending_embedding_;

  // Last: its tasks use all of the above.
  async::Executor openers_{1, async::Executor::Start::kWithFirstTask};
};

}  // namespace windrow::engine
