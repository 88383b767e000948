// SimulatedNetwork: an http::Client whose server is simulated, on a clock that a test moves. One
// thread; replies come when run_due() is called.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "http/client.h"
#include "sim_upstream/simulated_upstream.h"

namespace windrow::testing {

class SimulatedNetwork final : public http::Client {
 public:
  // `connections_max`: for which there are files; 0: any number.
  SimulatedNetwork(const Clock& clock, sim_upstream::SimOptions server, size_t connections_max = 0)
      : clock_(clock), server_(std::move(server)), connections_max_(connections_max) {}

  http::CallId send(http::ClientRequest request, Done done) override {
    const TimePoint now = clock_.now();
    const http::CallId id(++calls_begun_);
    Call call{.done = std::move(done), .arrives = now + kWay};
    if (request.limits.total > Duration{}) call.deadline = now + request.limits.total;
    call.request = std::move(request);
    if (connections_max_ > 0 && connections_ >= connections_max_) {
      call.has_connection = false;
      call.result = failure(http::FailureKind::kFiles, false);
      call.comes_back = now;
    }
    connections_ += call.has_connection ? 1 : 0;
    calls_.emplace(id, std::move(call));
    return id;
  }

  void cancel(http::CallId id) override {
    const auto call = calls_.find(id);
    if (call != calls_.end()) end(call, failure(http::FailureKind::kCancelled));
  }

  // When something is due if nothing is sent before.
  std::optional<TimePoint> next_time() const {
    std::optional<TimePoint> next = server_.next_event();
    const auto look_at = [&](TimePoint time) { next = std::min(next.value_or(time), time); };
    for (const auto& [id, call] : calls_) {
      if (call.result) look_at(call.comes_back);
      if (!call.result && !call.at_server) look_at(call.arrives);
      if (call.deadline) look_at(*call.deadline);
    }
    return next;
  }

  // Everything that is due at the clock's time.
  void run_due() {
    const TimePoint now = clock_.now();
    for (auto& [id, call] : calls_) {
      if (call.at_server || call.result || call.arrives > now) continue;
      call.at_server = server_.arrive(
          {.method = "POST", .path = call.request.url.target, .body = *call.request.body}, now);
    }
    for (sim_upstream::SimReply& reply : server_.advance(now)) {
      const auto call = std::ranges::find_if(
          calls_, [&](const auto& entry) { return entry.second.at_server == reply.request; });
      if (call == calls_.end()) continue;
      call->second.at_server.reset();
      call->second.comes_back = now + kWay + reply.body_time;
      call->second.result = result_of(std::move(reply));
    }
    while (end_one(now)) {
    }
  }

  const sim_upstream::SimulatedUpstream& server() const { return server_; }

 private:
  // There, or back.
  static constexpr Duration kWay = std::chrono::microseconds(500);

  struct Call {
    http::ClientRequest request = {};
    Done done;
    TimePoint arrives;
    std::optional<TimePoint> deadline = {};
    std::optional<sim_upstream::SimRequestId> at_server = {};
    std::optional<http::ClientResult> result = {};
    TimePoint comes_back = {};
    bool has_connection = true;
  };
  using Calls = std::map<http::CallId, Call>;

  static http::ClientFailure failure(http::FailureKind kind, bool sent = true) {
    return {.kind = kind, .sent = sent, .message = std::string(http::to_string(kind))};
  }

  static http::ClientResult result_of(sim_upstream::SimReply reply) {
    if (reply.delivery == sim_upstream::Delivery::kReset) return failure(http::FailureKind::kReset);
    http::ClientReply answer{.body = std::move(reply.body)};
    answer.head.status = reply.status;
    answer.head.headers = std::move(reply.headers);
    answer.head.headers.set("Content-Type", reply.content_type);
    return answer;
  }

  bool end_one(TimePoint now) {
    for (auto call = calls_.begin(); call != calls_.end(); ++call) {
      if (call->second.result && call->second.comes_back <= now) {
        end(call, *std::exchange(call->second.result, std::nullopt));
        return true;
      }
      if (call->second.deadline && *call->second.deadline <= now) {
        end(call, failure(http::FailureKind::kTimeout));
        return true;
      }
    }
    return false;
  }

  void end(Calls::iterator at, http::ClientResult result) {
    Call call = std::move(at->second);
    calls_.erase(at);
    connections_ -= call.has_connection ? 1 : 0;
    if (call.at_server) server_.leave(*call.at_server, clock_.now());
    call.done(std::move(result));
  }

  const Clock& clock_;
  sim_upstream::SimulatedUpstream server_;
  const size_t connections_max_;
  size_t connections_ = 0;
  uint64_t calls_begun_ = 0;
  Calls calls_;
};

}  // namespace windrow::testing
