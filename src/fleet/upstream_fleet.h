// Upstream servers as what answers a job (UpstreamJobFleet) or a server (UpstreamServerFleet). One
// dispatcher spreads the requests over all servers that upstream::UpstreamFleet has found.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dispatch/dispatcher.h"
#include "dispatch/response_cache.h"
#include "dispatch/waker.h"
#include "engine/llama/llama_library.h"
#include "fleet/fleet_options.h"
#include "fleet/job_fleet.h"
#include "fleet/server_fleet.h"
#include "fleet/tokenizer_watch.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/reply_budget.h"
#include "llm/tokenizer.h"
#include "store/disk.h"
#include "upstream/upstream_fleet.h"

namespace windrow::fleet {

// What both have: an HTTP client, the servers, and the dispatcher in front of them. After open()
// has succeeded, any thread.
class UpstreamDispatch {
 public:
  struct Start {
    bool serving = false;
    std::function<std::optional<Error>()> refusal;  // JobStart
    std::function<void()> on_budget_spent;          // JobStart
    std::function<void()> on_all_failed;            // JobStart
    TokenizerWatch* tokenizers = nullptr;           // sees all answers; outlives it; may be null
  };

  // `disk`, `clock` and `events` outlive it.
  UpstreamDispatch(UpstreamFleetOptions options, store::Disk& disk, const Clock& clock,
                   FleetEvents& events);
  ~UpstreamDispatch();
  UpstreamDispatch(const UpstreamDispatch&) = delete;
  UpstreamDispatch& operator=(const UpstreamDispatch&) = delete;

  // Blocks. Errors as upstream::UpstreamFleet::open, and of the cache's file.
  Result<void> open(const Start& start);

  // open() has succeeded. The methods below are for then.
  bool is_open() const { return open_; }

  const UpstreamFleetOptions& options() const { return options_; }
  upstream::UpstreamFleet& servers() { return *servers_; }
  const upstream::UpstreamFleet& servers() const { return *servers_; }
  dispatch::Dispatcher& dispatcher() const { return *dispatcher_; }

  // Null without UpstreamFleetOptions::cache.
  const dispatch::ResponseCache* cache() const { return cache_.get(); }

  // What the servers and the dispatcher know of each server.
  std::vector<llm::UpstreamStatus> status() const;

 private:
  dispatch::DispatchOptions dispatch_options(const Start& start);

  const UpstreamFleetOptions options_;
  store::Disk& disk_;
  const Clock& clock_;
  FleetEvents& events_;

  // Destroyed from the last to the first.
  std::unique_ptr<http::Loop> loop_;
  std::optional<http::ReplyBudget> reply_budget_;  // of a job
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<upstream::UpstreamFleet> servers_;
  std::vector<std::unique_ptr<WatchedBackend>> watched_;  // of each server; empty: none is watched
  std::unique_ptr<dispatch::ResponseCache> cache_;
  std::unique_ptr<dispatch::ThreadWaker> waker_;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
  std::atomic<bool> open_ = false;  // then nothing above changes any more
};

class UpstreamJobFleet final : public JobFleet {
 public:
  // As UpstreamDispatch.
  UpstreamJobFleet(UpstreamFleetOptions options, store::Disk& disk, const Clock& clock,
                   FleetEvents& events)
      : calls_(std::move(options), disk, clock, events) {}

  Result<void> open(const JobStart& start) override;
  llm::BackendStats stats() const override;
  std::vector<llm::UpstreamStatus> upstreams() override;
  dispatch::RetryReading retries() const override {
    return calls_.is_open() ? calls_.dispatcher().retries() : dispatch::RetryReading{};
  }
  dispatch::DispatchCounts counts() const override { return calls_.dispatcher().counts(); }
  std::vector<JobRoute> routes() const override;
  JobHooks hooks() override;
  Result<std::shared_ptr<const llm::Tokenizer>> tokenizer(std::string_view model) const override;
  std::string note() const override { return calls_.servers().description(); }
  std::string runtime() const override;
  std::optional<Error> final_error() override;
  std::vector<std::string> final_notes() const override;

 private:
  void plant_question(const llm::Request& row);

  UpstreamDispatch calls_;
};

class UpstreamServerFleet final : public ServerFleet {
 public:
  // As UpstreamDispatch.
  UpstreamServerFleet(UpstreamFleetOptions options, store::Disk& disk, const Clock& clock,
                      FleetEvents& events)
      : clock_(clock),
        events_(events),
        watch_(events),
        calls_(std::move(options), disk, clock, events) {}

  // Errors also: those of load_tokenizer; kInvalid for a tokenizer of a model that no server has.
  Result<void> open(const ServerStart& start) override;
  std::vector<FleetReading> readings() const override;
  bool is_unreachable(uint64_t upstreams) const override;
  upstream::ServerKind server_kind(uint64_t upstreams) const override {
    return calls_.servers().kind_of(upstreams);
  }
  std::vector<FleetModel> models() const override;
  std::string note() const override { return calls_.servers().description(); }
  void watch(std::function<void()> changed) override { calls_.servers().watch(std::move(changed)); }

 private:
  Result<void> open_tokenizers();
  Result<void> check_name_of_tokenizer(const ModelChoice& choice) const;

  const Clock& clock_;
  FleetEvents& events_;

  // Set by open(); destroyed from the last to the first, as answers use the tokenizers.
  std::unique_ptr<engine::LlamaLibrary> library_;                          // null: no file needs it
  std::map<std::string, std::shared_ptr<llm::LazyTokenizer>> tokenizers_;  // by name of the model
  TokenizerWatch watch_;
  UpstreamDispatch calls_;
};

}  // namespace windrow::fleet
