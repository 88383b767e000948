// SimulatedUpstream: a server of language models as an event machine. Pure: no sockets, no clock.
// Requests go in at a time, replies come out at a time; the same seed and the same requests at the
// same times give the same replies. sim_server.h puts it behind a port, tests and simulations drive
// it with a time of their own.
//
//   arrive -> refused (key, path, body, model, quota, storm, full queue)
//          -> waits for a slot, computes what of its prompt is not cached, makes its tokens
//          -> a reply, as it should be or struck by a fault; of a stream, a part of it with each
//             token
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "sim_upstream/faults.h"
#include "sim_upstream/job.h"
#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"
#include "sim_upstream/prefix_cache.h"
#include "sim_upstream/rate_limit.h"
#include "sim_upstream/reply_body.h"
#include "sim_upstream/sim_reply.h"
#include "sim_upstream/sim_stats.h"
#include "sim_upstream/slots.h"

namespace windrow::sim_upstream {

struct SimRequest {
  std::string_view method;
  std::string_view path;
  std::string_view authorization;  // the header's value
  std::string_view body;
};

class SimulatedUpstream {
 public:
  // `start_unix_s`: the date of TimePoint{}, for the stamps in replies.
  explicit SimulatedUpstream(SimOptions options, int64_t start_unix_s = 1'700'000'000);

  // `now` of all calls together never goes back. The reply comes from advance(), maybe at once.
  SimRequestId arrive(const SimRequest& request, TimePoint now);

  // The client is gone: its slot is free, no reply comes, or no more of it.
  void leave(SimRequestId request, TimePoint now);

  // When advance() has something to do; at the latest time given so far when it has now.
  std::optional<TimePoint> next_event() const;

  // The replies that are due, in the order they became so.
  std::vector<SimReply> advance(TimePoint now);

  // Of every path there is: those that a server in front must let through.
  static std::vector<std::pair<std::string_view, std::string_view>> paths();  // method, path

  const SimStats& stats() const { return stats_; }
  int64_t in_flight() const { return in_flight_; }

 private:
  using Late = std::pair<TimePoint, SimRequestId>;

  void move_to(TimePoint now);
  std::optional<SimReply> watching_reply(const SimRequest& asked) const;
  void answer(SimRequestId request, const SimRequest& asked);
  void call_model(SimRequestId request, Endpoint endpoint, std::string_view body);
  std::optional<int> error_status(FaultKind kind);
  std::optional<SimReply> refuse_by_quota(int64_t tokens) const;
  std::optional<SimReply> refuse_model(std::string_view model) const;
  void start(SimRequestId request);
  void start_waiting();
  void leave_slot(Job& job);
  void step_ended(SimRequestId request);
  void finish(SimRequestId request);
  void reply_to(SimRequestId request);
  ReplyFacts facts_of(SimRequestId request) const;
  void strike_reply(const Strike& strike, SimReply& reply);
  void swap_answer(SimRequestId request);
  SimReply limit_reply(Duration wait, std::string_view what) const;
  void add_limit_headers(SimReply& reply) const;

  // simulated_streams.cc
  bool stream_on(SimRequestId request);
  void begin_stream(SimRequestId request, Job& job);
  void tell(SimRequestId request, Job& job, std::string events, Delivery delivery);
  void end_stream(SimRequestId request, Job& job);
  void break_stream(SimRequestId request, Job& job, std::string events, Delivery delivery);
  void tell_held_back(SimRequestId request, Job& job);

  double cache_used() const;
  std::string metrics_text() const;
  void count_fault(FaultKind kind) { ++stats_.faults.at(static_cast<size_t>(kind)); }
  void count_answer(const Job& job);
  void push(SimRequestId request, SimReply reply);
  void push_part(SimRequestId request, SimReply reply);
  int64_t unix_seconds() const;

  const SimOptions options_;
  const int64_t start_unix_s_;
  std::vector<std::string> model_names_;  // those it tells

  TimePoint now_{};
  uint64_t last_request_ = 0;
  int64_t in_flight_ = 0;
  std::map<SimRequestId, Job> jobs_;  // waiting, in a slot or late
  std::deque<SimRequestId> waiting_;
  Slots slots_;
  int64_t tokens_in_slots_ = 0;
  std::set<Late> late_;  // stalled: done, but told only then
  std::deque<SimReply> ready_;
  std::set<SimRequestId> ready_requests_;

  PrefixCache prefixes_;
  FaultDice dice_;
  Random random_;
  RateLimit request_limit_;
  RateLimit token_limit_;
  SimStats stats_;
};

}  // namespace windrow::sim_upstream
