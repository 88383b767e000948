// UpstreamFleet: servers elsewhere, all behind one dispatcher, which spreads the rows over
// them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/environment.h"
#include "app/failure_news.h"
#include "app/model_fleet.h"
#include "app/settings.h"
#include "app/spending.h"
#include "app/upstream_choice.h"
#include "base/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/response_cache.h"
#include "dispatch/waker.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/reply_budget.h"
#include "upstream/answer_schemas.h"
#include "upstream/ask_upstream.h"
#include "upstream/checked_backend.h"
#include "upstream/deferred_backend.h"
#include "upstream/memory_poll.h"
#include "upstream/mix_up_watch.h"
#include "upstream/ollama_backend.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"
#include "upstream/upstream_watch.h"

namespace windrow::app {

class UpstreamFleet final : public ModelFleet {
 public:
  // At least one choice. `disk`, `clock` and `console` outlive it.
  UpstreamFleet(std::vector<UpstreamChoice> choices, Spending spending, const Settings& settings,
                const Environment& environment, store::Disk& disk, const Clock& clock,
                Console& console);

  boost::json::array description() const override;

  // A server that cannot be reached is left out, with a word, while another one answers; of those
  // opened to serve it joins when it is there.
  Result<void> open(const FleetOptions& run) override;

  std::span<const batch::ModelRoute> routes() const override { return routes_; }
  std::string note() const override { return note_; }
  std::optional<llm::Failure> check(const llm::Request&) const override { return std::nullopt; }
  std::variant<dispatch::Cost, llm::Failure> expected_cost(
      const llm::Request& request) const override {
    return spending_.expected(request);
  }
  void before_row(const llm::Request& row) override;
  std::optional<Error> final_error() override;
  uint64_t upstreams_of(const std::string& model) const override;
  std::string runtime() const override;
  std::vector<std::string> final_notes() const override;
  llm::BackendStats stats() const override;
  dispatch::DispatchCounts counts() const override;
  std::vector<llm::UpstreamStatus> upstreams() const override;
  std::vector<FleetModel> offered() const override;
  void watch(std::function<void()> changed) override;
  bool nobody_answers(uint64_t upstreams) const override;
  std::vector<api::ModelReading> readings() const override;

 private:
  struct Server {
    UpstreamChoice choice;
    bool there = true;  // it has answered once

    // Absent: it does not say. These change while they are watched; who it is, once at most.
    std::optional<std::vector<std::string>> models;
    bool answers = true;
    upstream::ServerIdentity identity;
    std::unique_ptr<upstream::UpstreamBackend> backend;
    std::unique_ptr<upstream::OllamaBackend> ollama;    // before it, where it is one
    std::unique_ptr<upstream::DeferredBackend> late;    // where it was not there at the start
    std::unique_ptr<upstream::CheckedBackend> checked;  // with --self-check
    std::unique_ptr<upstream::MemoryPoll> memory;
    std::atomic<bool> told_serial = false;
  };

  // What a server said of itself; nothing: it is not there.
  using Facts = std::optional<upstream::UpstreamFacts>;

  Result<std::vector<Facts>> ask_all(bool serving);
  upstream::UpstreamOptions backend_options(const UpstreamChoice& choice) const;
  void add_server(const UpstreamChoice& choice, const Facts& facts);
  void add_care(Server& server);
  static llm::Backend& way_to(Server& server);
  static std::string known_of(const upstream::ServerIdentity& identity, const std::string& models);
  void server_changed(size_t index, const std::function<void()>& changed);
  void join(Server& server, const upstream::ServerIdentity& identity);
  bool is_there(size_t index) const;
  dispatch::DispatchOptions dispatch_options(const FleetOptions& run);
  std::vector<llm::UpstreamStatus> series() const;
  void tell_batch(const dispatch::SentBatch& batch);
  void tell_serial(Server& server) const;
  void tell_context(const std::string& server, const std::string& model, int64_t tokens) const;
  bool have_all_failed(const llm::Failure& failure);
  void tell_failure(const std::string& server, const llm::Failure& failure);

  std::vector<UpstreamChoice> choices_;  // of open(): those that answer, or may later
  const Spending spending_;
  const Settings settings_;
  const Environment environment_;
  store::Disk& disk_;
  const Clock& clock_;
  Console& console_;
  bool serving_ = false;

  std::mutex news_mutex_;
  FailureNews news_;
  int64_t useless_ = 0;              // replies that were none, from all servers
  std::optional<Error> all_failed_;  // nobody ever answered
  std::function<void()> on_all_failed_;

  // Destroyed from the last to the first.
  std::unique_ptr<http::Loop> loop_;
  std::optional<http::ReplyBudget> reply_budget_;  // of a job: replies that are being received
  std::unique_ptr<http::Client> client_;
  std::unique_ptr<upstream::AnswerSchemas> schemas_;
  std::unique_ptr<upstream::MixUpWatch> watch_;  // with --self-check
  std::vector<std::unique_ptr<Server>> servers_;
  std::unique_ptr<dispatch::ResponseCache> cache_;
  std::unique_ptr<dispatch::ThreadWaker> waker_;
  std::unique_ptr<dispatch::Dispatcher> dispatcher_;
  std::vector<batch::ModelRoute> routes_;
  std::string note_;

  // Guards what readers see while it opens.
  mutable std::mutex open_mutex_;
  bool open_ = false;

  // Guards what the watch changes, and who it is. It asks the servers while somebody watches.
  mutable std::mutex watch_mutex_;
  std::unique_ptr<upstream::UpstreamWatch> server_watch_;
};

}  // namespace windrow::app
