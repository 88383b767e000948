#include "simulate/sim_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/ensure.h"
#include "simulate/virtual_threads.h"

namespace windrow::simulate {
namespace {

http::ClientFailure failure(http::FailureKind kind, bool sent, std::string_view message) {
  return {.kind = kind, .sent = sent, .message = std::string(message)};
}

size_t server_of(const http::Url& url) {
  constexpr std::string_view kHost = "server-";
  ENSURE(url.host.starts_with(kHost), "{} is no simulated server", url.host);
  size_t number = 0;
  std::from_chars(url.host.data() + kHost.size(), url.host.data() + url.host.size(), number);
  return number;
}

}  // namespace

SimClient::SimClient(std::vector<SimServer>& servers, Ledger& ledger, Trace& trace,
                     const Clock& clock, SimClientOptions options)
    : servers_(servers),
      ledger_(ledger),
      trace_(trace),
      clock_(clock),
      options_(options),
      random_(options.seed),
      thread_([this] { work(); }) {}

SimClient::~SimClient() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SimClient::event(std::string_view text) const {
  trace_.event(clock_.now(), VirtualThreads::this_thread(), text);
}

// --- any thread -------------------------------------------------------------------------------

http::CallId SimClient::send(http::ClientRequest request, Done done) {
  Call call{.request = std::move(request), .done = std::move(done)};
  call.server = server_of(call.request.url);
  call.word = word_in_request(*call.request.body);
  if (call.request.limits.total > Duration{})
    call.deadline = clock_.now() + call.request.limits.total;
  const std::scoped_lock lock(mutex_);
  std::unique_lock<std::mutex> second;
  if (options_.canary == Canary::kLockOrder) second = std::unique_lock(counting_);
  const http::CallId id(++begun_);
  SimServer& server = servers_[call.server];
  server.in_flight_max = std::max(server.in_flight_max, ++server.in_flight);
  call.sending = ledger_.sent(call.word, clock_.now());
  event(fmt::format("send {} to server {}, as call {}", call.word, call.server, id.value()));
  commands_.push_back({.call = id, .begin = std::move(call)});
  changed_.notify_all();
  return id;
}

void SimClient::cancel(http::CallId call) {
  const std::scoped_lock lock(mutex_);
  commands_.push_back({.call = call, .begin = std::nullopt});
  changed_.notify_all();
}

// --- its thread -------------------------------------------------------------------------------

void SimClient::work() {
  for (;;) {
    std::vector<Command> commands = wait_for_commands();
    for (Command& command : commands)
      carry_out(std::move(command));
    while (do_what_is_due()) {
    }
    bool over = false;
    {
      const std::scoped_lock lock(mutex_);
      over = ended_ && commands_.empty();
    }
    if (!over) continue;
    while (!calls_.empty())
      end(calls_.begin(), failure(http::FailureKind::kCancelled, true, "the client ended"));
    const std::scoped_lock lock(mutex_);
    if (commands_.empty()) return;
  }
}

std::vector<SimClient::Command> SimClient::wait_for_commands() {
  const std::optional<TimePoint> next = next_time();
  if (options_.canary == Canary::kLostWake) {
    bool wanted = false;
    {
      const std::scoped_lock lock(mutex_);
      wanted = ended_ || !commands_.empty();
    }
    std::unique_lock lock(mutex_);
    if (!wanted && !next) changed_.wait(lock);
    if (!wanted && next) changed_.wait_for(lock, *next - clock_.now());
    return std::exchange(commands_, {});
  }
  std::unique_lock<std::mutex> second;
  if (options_.canary == Canary::kLockOrder && !calls_.empty())
    second = std::unique_lock(counting_);
  std::unique_lock lock(mutex_);
  if (second.owns_lock()) second.unlock();
  const auto wanted = [&] { return ended_ || !commands_.empty(); };
  if (!next) {
    changed_.wait(lock, wanted);
  } else {
    changed_.wait_for(lock, *next - clock_.now(), wanted);
  }
  return std::exchange(commands_, {});
}

std::optional<TimePoint> SimClient::next_time() const {
  std::optional<TimePoint> next;
  const auto look_at = [&](TimePoint time) { next = std::min(next.value_or(time), time); };
  for (const auto& [id, call] : calls_) {
    if (call.deadline != TimePoint::max()) look_at(call.deadline);
    if (call.arrives) look_at(*call.arrives);
    if (call.result) look_at(call.comes_back);
  }
  for (const SimServer& server : servers_) {
    if (const auto time = server.upstream->next_event()) look_at(*time);
  }
  return next;
}

Duration SimClient::way(const SimServer& server) {
  return Duration(random_.between(0, server.way_max.count()));
}

void SimClient::carry_out(Command command) {
  if (command.begin) {
    Call& call = calls_.emplace(command.call, *std::move(command.begin)).first->second;
    call.arrives = clock_.now() + way(servers_[call.server]);
    return;
  }
  const auto found = calls_.find(command.call);
  if (found == calls_.end()) return;
  if (options_.canary == Canary::kNeverDone && random_.chance(0.2)) {
    found->second.deadline = TimePoint::max();
    found->second.arrives.reset();
    found->second.result.reset();
    if (found->second.at_server) {
      servers_[found->second.server].upstream->leave(*found->second.at_server, clock_.now());
      found->second.at_server.reset();
    }
    return;
  }
  end(found, failure(http::FailureKind::kCancelled, true, "cancelled"));
}

bool SimClient::do_what_is_due() {
  const TimePoint now = clock_.now();
  const bool reached = reach_servers(now);
  const bool took = take_replies(now);
  return end_calls(now) || reached || took;
}

bool SimClient::reach_servers(TimePoint now) {
  bool any = false;
  for (auto& [id, call] : calls_) {
    if (!call.arrives || *call.arrives > now) continue;
    any = true;
    call.arrives.reset();
    SimServer& server = servers_[call.server];
    if (server.outage && server.outage->from <= now && now < server.outage->to) {
      call.result = failure(http::FailureKind::kConnect, false, "connection refused");
      call.comes_back = now + way(server);
      continue;
    }
    ledger_.arrived(call.word);
    event(fmt::format("call {} arrives", id.value()));
    call.at_server = server.upstream->arrive(
        {.method = "POST", .path = call.request.url.target, .body = *call.request.body}, now);
  }
  return any;
}

bool SimClient::take_replies(TimePoint now) {
  bool any = false;
  for (size_t i = 0; i < servers_.size(); ++i) {
    for (sim_upstream::SimReply& reply : servers_[i].upstream->advance(now)) {
      const auto found = std::ranges::find_if(calls_, [&](const auto& entry) {
        return entry.second.server == i && entry.second.at_server == reply.request;
      });
      if (found == calls_.end()) continue;
      any = true;
      found->second.at_server.reset();
      come_back(found->second, now, std::move(reply));
    }
  }
  return any;
}

void SimClient::come_back(Call& call, TimePoint now, sim_upstream::SimReply reply) {
  const Duration back = way(servers_[call.server]) + reply.body_time;
  call.comes_back = now + back;
  if (reply.delivery == sim_upstream::Delivery::kReset) {
    call.result = failure(http::FailureKind::kReset, true, "the connection was reset");
    return;
  }
  http::ClientReply answer{.body = std::move(reply.body)};
  answer.head.status = reply.status;
  answer.head.headers = std::move(reply.headers);
  answer.head.headers.set("Content-Type", reply.content_type);
  call.result = std::move(answer);
}

bool SimClient::end_calls(TimePoint now) {
  for (auto call = calls_.begin(); call != calls_.end(); ++call) {
    if (call->second.result && call->second.comes_back <= now) {
      http::ClientResult result = *std::move(call->second.result);
      end(call, std::move(result));
      return true;
    }
    if (call->second.deadline <= now) {
      end(call, failure(http::FailureKind::kTimeout, true, "no answer in time"));
      return true;
    }
  }
  return false;
}

void SimClient::end(Calls::iterator call, http::ClientResult result) {
  const http::CallId id = call->first;
  Call ended = std::move(call->second);
  calls_.erase(call);
  SimServer& server = servers_[ended.server];
  if (ended.at_server) server.upstream->leave(*ended.at_server, clock_.now());
  --server.in_flight;
  ledger_.ended(ended.sending, clock_.now());
  const auto* reply = std::get_if<http::ClientReply>(&result);
  if (reply == nullptr) {
    event(fmt::format("call {} ends: {}", id.value(),
                      to_string(std::get<http::ClientFailure>(result).kind)));
  } else {
    const bool good = reply->head.status == 200 && !answer_in(reply->body).empty();
    event(fmt::format("call {} ends: {}{}", id.value(), reply->head.status,
                      reply->head.status == 200 && !good ? ", which is no answer" : ""));
    if (good) ledger_.answered(ended.word);
    if (good && options_.canary == Canary::kForgotten && random_.chance(0.1))
      result = failure(http::FailureKind::kReset, true, "the connection was reset");
  }
  ended.done(std::move(result));
}

}  // namespace windrow::simulate
