// DeferredBackend: represents a server that was not reachable when the program started. Rows need
// other checks depending on which product the server is (prompts for Ollama are checked), so none
// passes before that is known.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <utility>

#include "base/ensure.h"
#include "llm/backend.h"

namespace windrow::upstream {

class DeferredBackend final : public llm::Backend {
 public:
  // `name` is for messages to clients.
  explicit DeferredBackend(std::string name, int32_t in_flight)
      : name_(std::move(name)), in_flight_(in_flight) {}

  // The server is reachable now, through `backend`, which outlives this. Once; any thread.
  void join(llm::Backend& backend) {
    ENSURE(!has_joined(), "a server joins once");
    backend_.store(&backend, std::memory_order_release);
  }
  bool has_joined() const { return backend() != nullptr; }

  // Until the server has joined, a request fails as one to an unreachable server.
  void submit(llm::BackendCall call, Done done) override {
    if (llm::Backend* const there = backend())
      return there->submit(std::move(call), std::move(done));
    done(llm::Failure{.failure_class = llm::FailureClass::kTransient,
                      .status = 502,
                      .code = "upstream_unreachable",
                      .message = fmt::format("{} has not answered yet", name_),
                      .param = {},
                      .unreached = true});
  }
  int32_t in_flight_target() const override { return in_flight_; }
  llm::BackendStats stats() const override {
    const llm::Backend* const there = backend();
    return there == nullptr ? llm::BackendStats{} : there->stats();
  }

 private:
  llm::Backend* backend() const { return backend_.load(std::memory_order_acquire); }

  const std::string name_;
  const int32_t in_flight_;
  std::atomic<llm::Backend*> backend_ = nullptr;
};

}  // namespace windrow::upstream
