// UpstreamFleet: the upstream servers of a job or of `windrow serve`: which of them are reachable,
// which product each is, which models it has, and a Backend for each. Which server gets a request
// is the dispatcher's decision.
//
//   UpstreamFleet fleet(loop, client, clock, {.servers = ...});
//   if (Result<void> opened = fleet.open({}); !opened) return opened.error();
//   for (size_t i = 0; i < fleet.size(); ++i) use(fleet.backend(i));
//
// Invariants:
//   - After open() the list of servers and their backends never change.
//   - A server that was not reachable when a fleet for serving was opened gets no request before it
//     is known which product it is: prompts for Ollama are checked for their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/client.h"
#include "http/loop.h"
#include "llm/backend.h"
#include "llm/upstream_status.h"
#include "upstream/answer_format_check.h"
#include "upstream/failure_reports.h"
#include "upstream/self_check.h"
#include "upstream/server_kind.h"
#include "upstream/upstream_backend.h"
#include "upstream/upstream_watch.h"

namespace windrow::upstream {

struct DiscoveryOptions {
  // At least one. `schemas`, `client_name` and `on_failure` are set by the fleet.
  std::vector<UpstreamOptions> servers;

  // For `windrow serve`: servers that are not reachable stay in the list and join later, and
  // failures that clients see do not name a server.
  bool serving = false;

  // Plants questions that show answers given to the wrong request (self_check.h).
  bool self_check = false;

  // Told in words, from any thread.
  std::function<void(const std::string&)> note;
  std::function<void(const std::string&)> warn;

  // The servers answer nothing (AllFailedRule): all_failed() is set. Called once, on the client's
  // loop. May be empty.
  std::function<void()> on_all_failed;
};

class UpstreamFleet {
 public:
  // The models of all reachable servers.
  struct Models {
    std::vector<std::string> names;  // as servers list them, and aliases
    bool any = false;                // some server takes names that it does not list
  };

  // `client` runs on `loop`; both and `clock` outlive the fleet.
  UpstreamFleet(http::Loop& loop, http::Client& client, const Clock& clock,
                DiscoveryOptions options);
  ~UpstreamFleet();
  UpstreamFleet(const UpstreamFleet&) = delete;
  UpstreamFleet& operator=(const UpstreamFleet&) = delete;

  // Asks all servers at the same time what they have; blocks for some seconds. Not on the loop. A
  // server that does not answer is left out with a warning as long as another one answers; a fleet
  // for serving keeps it. `refusal` (may be empty) is asked once they have answered. Errors:
  // kUnavailable when no server answers, as facts_in for an only one; what `refusal` returns.
  Result<void> open(const std::function<std::optional<Error>()>& refusal);

  // --- After open(), any thread. ---

  size_t size() const { return servers_.size(); }

  // The position of a server in DiscoveryOptions::servers.
  size_t position(size_t server) const;

  const UpstreamOptions& options_of(size_t server) const;

  // Lives as long as the fleet.
  llm::Backend& backend(size_t server);

  // "http://a:8000: vLLM, it has m; http://b:11434: Ollama 0.12.3"; empty when nothing is known.
  const std::string& description() const { return description_; }

  // A bit for each of the first 64 servers that has the model. 0: none lists it, and any may still
  // take it, or refuse it in better words.
  uint64_t servers_with(const std::string& model) const;

  Models models() const;

  // Which product these servers are (as servers_with; 0: all). kUnknown: none of them has told yet,
  // or they are different ones.
  ServerKind kind_of(uint64_t servers) const;

  llm::BackendStats stats() const;

  // Of each server, without what only the dispatcher knows: in_flight, in_flight_max, state and
  // finding. `healthy` tells whether the server was reachable when it was last asked.
  std::vector<llm::UpstreamStatus> status() const;

  // Asks servers for the memory they use, each when it is due; returns at once. The answers show
  // in status().
  void poll_memory();

  // Says once that this server answers one request at a time, and what to do about that.
  void note_serial(size_t server);

  // --- Reachability, while watch() is on. ---

  // Asks every server for its models again and again, from now on; `changed` is called when a
  // server came, went or has other models, on the loop's thread, which waits for it. Empty: stops,
  // and returns when `changed` is not running any more.
  void watch(std::function<void()> changed);

  // None of these servers (as servers_with; 0: of all) has been reachable for some seconds.
  bool is_unreachable(uint64_t servers) const;

  // --- What ends a job. ---

  std::optional<Error> all_failed() const;

  // The question to plant beside a row that is about to be sent; mostly none.
  std::optional<llm::Request> question_beside(const llm::Request& row);

  // Null without DiscoveryOptions::self_check.
  const MixUpWatch* mix_ups() const { return mix_ups_.get(); }

 private:
  struct Server;

  // What a server said of itself; absent: it was not reachable.
  using Facts = std::optional<std::vector<std::string>>;
  struct Reachable {
    size_t position = 0;
    bool answers = false;
    Facts models;
  };

  Result<std::vector<Reachable>> ask_all() const;
  void add_server(Reachable found);
  void add_ollama_checks(Server& server);
  void join(Server& server, const ServerIdentity& identity);
  void server_changed(size_t index, const std::function<void()>& changed);
  void report_failure(const std::string& server, const llm::Failure& failure);
  void report_context(const std::string& server, const std::string& model, int64_t tokens) const;

  http::Loop& loop_;
  http::Client& client_;
  const Clock& clock_;
  const DiscoveryOptions options_;

  mutable std::mutex failures_mutex_;
  FailureReports failure_reports_;
  AllFailedRule all_failed_rule_;

  // Set by open(); destroyed from the last to the first.
  std::unique_ptr<AnswerSchemas> schemas_;
  std::unique_ptr<MixUpWatch> mix_ups_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::string description_;

  // Guards the watch and what it changes of the servers.
  mutable std::mutex watch_mutex_;
  std::unique_ptr<UpstreamWatch> watch_;
};

}  // namespace windrow::upstream
