// TokenizerWatch: compares the tokenizers of models that servers elsewhere have with what the
// servers' answers tell, each until one of them shows whether it is the right one. A wrong one is
// refused from then on, and the owner of the server is told once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fleet/fleet_options.h"
#include "llm/backend.h"
#include "llm/request.h"
#include "llm/tokenizer.h"

namespace windrow::fleet {

// Any thread once all were added, which is before the first request.
class TokenizerWatch {
 public:
  // `events` outlives it.
  explicit TokenizerWatch(FleetEvents& events) : events_(events) {}

  // `name`: the model's, as requests name it; `path`: the file, for messages. The tokenizer is
  // loaded.
  void add(const std::string& name, std::string path,
           std::shared_ptr<llm::LazyTokenizer> tokenizer);

  // Whether the answer to this request may show something that is not known yet. Costs one load
  // when all is known.
  bool wants(const llm::Request& request) const;

  // A server's whole reply to such a request. Takes some milliseconds at most.
  void see(const llm::Request& request, std::string_view reply);

 private:
  struct Watched {
    std::string path;
    std::shared_ptr<llm::LazyTokenizer> tokenizer;
    std::atomic<bool> is_known = false;
  };

  FleetEvents& events_;
  std::map<std::string, Watched, std::less<>> watched_;  // by name
  std::atomic<int32_t> unknown_ = 0;
};

// A server's backend whose answers the watch sees.
class WatchedBackend final : public llm::Backend {
 public:
  // `inner` takes raw bodies; it and `watch` outlive this.
  WatchedBackend(llm::Backend& inner, TokenizerWatch& watch) : inner_(inner), watch_(watch) {}

  void submit(llm::BackendCall call, Done done) override;
  int32_t in_flight_target() const override { return inner_.in_flight_target(); }
  llm::BackendStats stats() const override { return inner_.stats(); }

 private:
  llm::Backend& inner_;
  TokenizerWatch& watch_;
};

}  // namespace windrow::fleet
