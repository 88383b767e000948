// OllamaBackend: a Backend in front of that of an Ollama server. It prevents answers over half a
// prompt (ollama_context.h). With the first request for a model it makes the server load the model
// and asks for its context; the requests for that model wait for this. Streams pass through. That a
// prompt was cut is known when the answer is complete, so a stream over half a prompt ends with
// that failure after all its deltas.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/client.h"
#include "llm/backend.h"
#include "upstream/ollama_context.h"
#include "upstream/upstream_backend.h"

namespace windrow::upstream {

class OllamaBackend final : public llm::Backend {
 public:
  // Called once for each model, on the client's loop, unless the backend is destroyed first; 0: the
  // context is unknown, and nothing is checked. May be empty.
  using OnContext = std::function<void(const std::string& model, int64_t tokens)>;

  // `client` and `inner` outlive it; `options` are those of `inner`.
  OllamaBackend(http::Client& client, llm::Backend& inner, UpstreamOptions options,
                OnContext on_context = nullptr);
  ~OllamaBackend() override;
  OllamaBackend(const OllamaBackend&) = delete;
  OllamaBackend& operator=(const OllamaBackend&) = delete;

  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override { return inner_.in_flight_target(); }
  llm::BackendStats stats() const override { return inner_.stats(); }

 private:
  struct State;
  struct Model;

  void ask(const std::shared_ptr<Model>& model, llm::Endpoint endpoint);
  void ask_next(const std::shared_ptr<Model>& model);
  void known(const std::shared_ptr<Model>& model);
  bool holds(Model& model, llm::BackendCall& call, Done& done);
  void forward(const std::shared_ptr<Model>& model, llm::BackendCall call, Done done);
  http::ClientRequest call(http::Method method, std::string_view path,
                           const std::string& body) const;

  http::Client& client_;
  llm::Backend& inner_;
  const UpstreamOptions options_;
  const std::string server_;  // for messages
  const OnContext on_context_;

  // Shared with the calls in flight.
  std::shared_ptr<State> state_;
};

}  // namespace windrow::upstream
