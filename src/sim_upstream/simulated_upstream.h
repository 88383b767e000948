// SimulatedUpstream: a server of language models as an event machine. Pure: no sockets, no clock.
// Requests go in at a time, replies come out at a time; the same seed and the same requests at the
// same times give the same replies. sim_server.h puts it behind a port; tests and simulations drive
// it with their own time.
//
//   arrive -> refused (key, path, body, model, quota, storm, full queue)
//          -> waits for a slot, computes the uncached part of its prompt, makes its tokens
//          -> a reply, or for a stream a part with each step; as it should be, or struck by a fault
//
// Used by one thread at a time.
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
#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"
#include "sim_upstream/pages.h"
#include "sim_upstream/prefix_cache.h"
#include "sim_upstream/rate_limit.h"
#include "sim_upstream/reply.h"
#include "sim_upstream/sim_stats.h"
#include "sim_upstream/slots.h"
#include "sim_upstream/token_answer.h"

namespace windrow::sim_upstream {

struct SimRequest {
  std::string_view method;
  std::string_view path;
  std::string_view authorization;  // the header's value
  std::string_view body;
};

// Replies that are due, in order, until they are taken.
class ReplyQueue {
 public:
  void push(SimRequestId request, SimReply reply);

  // Drops the replies to one request. False: there are none.
  bool drop(SimRequestId request);

  bool empty() const { return replies_.empty(); }
  std::vector<SimReply> take();

 private:
  std::deque<SimReply> replies_;
  std::set<SimRequestId> requests_;
};

class SimulatedUpstream {
 public:
  // `start_unix_s`: the date of TimePoint{}, for the stamps in replies.
  explicit SimulatedUpstream(SimOptions options, int64_t start_unix_s = 1'700'000'000);

  // `now` must not go back from one call of any method to the next. The reply comes from advance(),
  // maybe at the same time.
  SimRequestId arrive(const SimRequest& request, TimePoint now);

  // The client is gone: its slot is freed, and no reply, or no further part of one, comes.
  void leave(SimRequestId request, TimePoint now);

  // When advance() has something to do; the latest time given so far when it has something now.
  std::optional<TimePoint> next_event() const;

  // The replies that are due, in the order in which they became due.
  std::vector<SimReply> advance(TimePoint now);

  // Method and path of everything that is answered: what a server in front must let through.
  static std::vector<std::pair<std::string_view, std::string_view>> paths();

  const SimStats& stats() const { return stats_; }

  // Requests that are not answered yet.
  int64_t in_flight() const { return in_flight_; }

 private:
  using Late = std::pair<TimePoint, SimRequestId>;

  void move_to(TimePoint now);
  std::optional<SimReply> monitoring_reply(const SimRequest& asked) const;
  void answer(SimRequestId request, const SimRequest& asked);
  void call_model(SimRequestId request, Endpoint endpoint, std::string_view body);
  std::optional<SimReply> strike_at_arrival(const Strike& strike);
  void start_waiting();
  void start(SimRequestId request);
  void leave_slot(ActiveCall& call);
  void step_ended(SimRequestId request);
  void finish(SimRequestId request);
  void reply_to(SimRequestId request);
  void note_shape(SimRequestId request);
  void swap_answer(SimRequestId request);
  bool advance_stream(SimRequestId request);
  void send_part(SimRequestId request, LongBody events, Delivery delivery);
  void end_call(SimRequestId request, SimReply reply);
  void push(SimRequestId request, SimReply reply);
  ReplyFacts facts_of(SimRequestId request) const;
  void count_fault(FaultKind kind) { ++stats_.faults.at(static_cast<size_t>(kind)); }

  const SimOptions options_;
  const int64_t start_unix_s_;
  const ModelPages pages_;

  TimePoint now_{};
  uint64_t last_request_ = 0;
  int64_t in_flight_ = 0;
  std::map<SimRequestId, ActiveCall> calls_;  // waiting, in a slot, or late
  std::deque<SimRequestId> waiting_;          // for a slot
  Slots slots_;
  int64_t tokens_in_slots_ = 0;
  std::set<Late> late_;  // stalled: done, and answered only then
  ReplyQueue ready_;

  PrefixCache prefixes_;
  FaultDice dice_;
  Random random_;
  SimQuota quota_;
  const RowBanks row_banks_;
  SimStats stats_;
};

}  // namespace windrow::sim_upstream
