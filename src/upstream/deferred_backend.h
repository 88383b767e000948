// DeferredBackend: stands for a server that was not there when the program began. What becomes of
// its rows depends on which server it turns out to be (an Ollama's prompts are watched), so none is
// let through before that is known.
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
  // `name` is for messages to those who ask.
  explicit DeferredBackend(std::string name, int32_t in_flight)
      : name_(std::move(name)), in_flight_(in_flight) {}

  // It is there now, and `backend`, which outlives this, is the way to it. Once; any thread.
  void join(llm::Backend& backend) {
    ENSURE(!has_joined(), "a server joins once");
    backend_.store(&backend, std::memory_order_release);
  }
  bool has_joined() const { return backend() != nullptr; }

  // Before it has joined a request fails as one to a server that is not there.
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
