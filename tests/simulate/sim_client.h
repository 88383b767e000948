// SimClient: an http::Client whose network and servers are simulated. It keeps the promises of
// http/client.h with a thread of its own, as the real ones do; the code behind that thread is pure
// and takes its time from the run's clock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "http/client.h"
#include "sim_upstream/simulated_upstream.h"
#include "simulate/canary.h"
#include "simulate/ledger.h"
#include "simulate/trace.h"

namespace windrow::simulate {

// A time in which a server takes no connections.
struct Outage {
  TimePoint from;
  TimePoint to;
};

// A server and the way to it. They outlive the processes that ask them.
struct SimServer {
  std::unique_ptr<sim_upstream::SimulatedUpstream> upstream;
  std::optional<Outage> outage;
  Duration way_max = std::chrono::milliseconds(5);  // there, or back

  // Calls that were sent and have not ended, and how many there were at most.
  int64_t in_flight = 0;
  int64_t in_flight_max = 0;
};

struct SimClientOptions {
  uint64_t seed = 1;
  Canary canary = Canary::kNone;
};

class SimClient final : public http::Client {
 public:
  // The host of a request's URL is "server-N", N counted from 0. All of these outlive it.
  SimClient(std::vector<SimServer>& servers, Ledger& ledger, Trace& trace, const Clock& clock,
            SimClientOptions options);
  ~SimClient() override;
  SimClient(const SimClient&) = delete;
  SimClient& operator=(const SimClient&) = delete;

  http::CallId send(http::ClientRequest request, Done done) override;
  void cancel(http::CallId call) override;

 private:
  struct Call {
    http::ClientRequest request;
    Done done;
    size_t server = 0;
    std::string word;
    size_t sending = 0;  // of the ledger
    TimePoint deadline = TimePoint::max();
    std::optional<sim_upstream::SimRequestId> at_server;
    std::optional<TimePoint> arrives;          // on its way there
    std::optional<http::ClientResult> result;  // on its way back
    TimePoint comes_back{};
  };
  using Calls = std::map<http::CallId, Call>;

  struct Command {
    http::CallId call;
    std::optional<Call> begin;  // nothing: cancel
  };

  // --- on its thread ---
  void work();
  std::vector<Command> wait_for_commands();
  std::optional<TimePoint> next_time() const;
  void carry_out(Command command);
  bool do_what_is_due();
  bool reach_servers(TimePoint now);
  bool take_replies(TimePoint now);
  bool end_calls(TimePoint now);
  void come_back(Call& call, TimePoint now, sim_upstream::SimReply reply);
  void end(Calls::iterator call, http::ClientResult result);
  Duration way(const SimServer& server);
  void event(std::string_view text) const;

  std::vector<SimServer>& servers_;
  Ledger& ledger_;
  Trace& trace_;
  const Clock& clock_;
  const SimClientOptions options_;

  mutable std::mutex mutex_;
  std::mutex counting_;  // a second one, for the canary that takes them in two orders
  std::condition_variable changed_;
  std::vector<Command> commands_;
  uint64_t begun_ = 0;
  bool ended_ = false;

  // Used by its thread only:
  Random random_;
  Calls calls_;
  std::thread thread_;
};

}  // namespace windrow::simulate
