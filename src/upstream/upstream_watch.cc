#include "upstream/upstream_watch.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "upstream/ask_upstream.h"

namespace windrow::upstream {
namespace {

// No server is there.
bool is_unreached(const http::ClientResult& result) {
  const auto* failure = std::get_if<http::ClientFailure>(&result);
  return failure != nullptr && !failure->sent &&
         (failure->kind == http::FailureKind::kConnect ||
          failure->kind == http::FailureKind::kResolve);
}

bool is_short_of_files(const http::ClientResult& result) {
  const auto* failure = std::get_if<http::ClientFailure>(&result);
  return failure != nullptr && failure->kind == http::FailureKind::kFiles;
}

}  // namespace

Duration until_next_question(const WatchTimes& times, int64_t failures, Random& random) {
  if (failures == 0) return times.period;
  const double doubled = static_cast<double>(times.retry_min.count()) *
                         std::exp2(static_cast<double>(std::min<int64_t>(failures - 1, 60)));
  const double whole = std::min(doubled, static_cast<double>(times.period.count()));
  return Duration(static_cast<Duration::rep>(whole * (1 - random.unit() / 3)));
}

class UpstreamWatch::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(http::Loop& loop, http::Client& client, std::vector<UpstreamOptions> servers,
       WatchOptions options)
      : loop_(loop),
        client_(client),
        servers_(std::move(servers)),
        options_(std::move(options)),
        random_(options_.seed),
        states_(servers_.size()),
        readings_(servers_.size()) {}

  // --- on the loop's thread ---
  void start();
  void stop();

  // --- any thread ---
  ServerReading reading(size_t server) const {
    const std::scoped_lock lock(mutex_);
    return readings_.at(server);
  }
  std::optional<TimePoint> unreached_since(size_t server) const {
    const std::scoped_lock lock(mutex_);
    return readings_.at(server).unreached_since;
  }
  size_t answering() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(readings_, &ServerReading::answers));
  }

 private:
  struct State {
    std::optional<http::CallId> call;
    std::unique_ptr<http::Timer> timer;
    int64_t failures = 0;
    std::optional<ServerIdentity> identity;  // since it came
  };

  void ask(size_t server);
  void answered(size_t server, http::ClientResult result);
  void identified(size_t server, const http::ClientResult& models,
                  const http::ClientResult& version);
  void settle(size_t server, const http::ClientResult& result);
  bool note(size_t server, Result<UpstreamFacts> facts, bool unreached);

  http::Loop& loop_;
  http::Client& client_;
  const std::vector<UpstreamOptions> servers_;
  const WatchOptions options_;

  // Used by the loop's thread only.
  Random random_;
  std::vector<State> states_;
  bool stopped_ = false;

  mutable std::mutex mutex_;
  std::vector<ServerReading> readings_;
};

void UpstreamWatch::Core::start() {
  if (stopped_) return;
  for (size_t i = 0; i < servers_.size(); ++i) {
    states_[i].timer = std::make_unique<http::Timer>(loop_);
    ask(i);
  }
}

void UpstreamWatch::Core::stop() {
  stopped_ = true;
  for (State& state : states_) {
    state.timer.reset();
    if (state.call) client_.cancel(*state.call);
  }
}

void UpstreamWatch::Core::ask(size_t server) {
  states_[server].call =
      client_.send(models_question(servers_[server]),
                   [self = shared_from_this(), server](http::ClientResult result) {
                     self->answered(server, std::move(result));
                   });
}

void UpstreamWatch::Core::answered(size_t server, http::ClientResult result) {
  if (stopped_) return;
  State& state = states_[server];
  state.call.reset();
  if (state.identity || !facts_in(servers_[server], result)) return settle(server, result);
  auto models = std::make_shared<const http::ClientResult>(std::move(result));
  state.call = client_.send(
      version_question(servers_[server]),
      [self = shared_from_this(), server, models = std::move(models)](
          const http::ClientResult& version) { self->identified(server, *models, version); });
}

void UpstreamWatch::Core::identified(size_t server, const http::ClientResult& models,
                                     const http::ClientResult& version) {
  if (stopped_) return;
  State& state = states_[server];
  state.call.reset();
  if (is_unreached(version) || is_short_of_files(version))
    return settle(server, version);  // it has gone down since
  state.identity = identity_in(models, version);
  settle(server, models);
}

void UpstreamWatch::Core::settle(size_t server, const http::ClientResult& result) {
  State& state = states_[server];
  if (is_short_of_files(result)) {
    // It was not asked which product it is, so that stays.
    const Duration soon = until_next_question(options_.times, 0, random_);
    state.timer->wake_at(loop_.clock().now() + soon, [this, server] { ask(server); });
    return;
  }
  Result<UpstreamFacts> facts = facts_in(servers_[server], result);
  state.failures = facts ? 0 : state.failures + 1;
  if (!facts) state.identity.reset();
  const Duration wait = until_next_question(options_.times, state.failures, random_);
  state.timer->wake_at(loop_.clock().now() + wait, [this, server] { ask(server); });
  if (note(server, std::move(facts), is_unreached(result)) && options_.on_change)
    options_.on_change(server);
}

// Whether anything has changed.
bool UpstreamWatch::Core::note(size_t server, Result<UpstreamFacts> facts, bool unreached) {
  const std::scoped_lock lock(mutex_);
  ServerReading& reading = readings_[server];
  bool changed = !reading.asked || reading.answers != facts.has_value();
  reading.asked = true;
  reading.answers = facts.has_value();
  if (!unreached) {
    reading.unreached_since.reset();
  } else if (!reading.unreached_since) {
    reading.unreached_since = loop_.clock().now();
  }
  reading.problem = facts ? "" : facts.error().message;
  if (facts) {
    if (facts->models) std::ranges::sort(*facts->models);
    const ServerIdentity& identity = *states_[server].identity;
    changed = changed || reading.models != facts->models || reading.identity != identity;
    reading.models = std::move(facts->models);
    reading.identity = identity;
  }
  return changed;
}

UpstreamWatch::UpstreamWatch(http::Loop& loop, http::Client& client,
                             std::vector<UpstreamOptions> servers, WatchOptions options)
    : loop_(loop),
      core_(std::make_shared<Core>(loop, client, std::move(servers), std::move(options))) {
  loop_.post([core = core_] { core->start(); });
}

UpstreamWatch::~UpstreamWatch() {
  loop_.run([this] { core_->stop(); });
}

ServerReading UpstreamWatch::reading(size_t server) const {
  return core_->reading(server);
}

std::optional<std::vector<std::string>> UpstreamWatch::models_of(size_t server) const {
  return core_->reading(server).models;
}

std::optional<TimePoint> UpstreamWatch::unreached_since(size_t server) const {
  return core_->unreached_since(server);
}

size_t UpstreamWatch::answering() const {
  return core_->answering();
}

}  // namespace windrow::upstream
