#include "upstream/upstream_watch.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "upstream/ask_upstream.h"

namespace windrow::upstream {

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
  size_t answering() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(readings_, &ServerReading::answers));
  }

 private:
  struct State {
    std::optional<http::CallId> call;
    std::unique_ptr<http::Timer> timer;
    int64_t failures = 0;
  };

  void ask(size_t server);
  void answered(size_t server, const http::ClientResult& result);
  bool note(size_t server, Result<UpstreamFacts> facts, bool unreached);

  http::Loop& loop_;
  http::Client& client_;
  const std::vector<UpstreamOptions> servers_;
  const WatchOptions options_;

  // Of the loop's thread.
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
                   [self = shared_from_this(), server](const http::ClientResult& result) {
                     self->answered(server, result);
                   });
}

void UpstreamWatch::Core::answered(size_t server, const http::ClientResult& result) {
  if (stopped_) return;
  State& state = states_[server];
  state.call.reset();
  Result<UpstreamFacts> facts = facts_in(servers_[server], result);
  state.failures = facts ? 0 : state.failures + 1;
  const Duration wait = until_next_question(options_.times, state.failures, random_);
  state.timer->wake_at(loop_.clock().now() + wait, [this, server] { ask(server); });
  const auto* failure = std::get_if<http::ClientFailure>(&result);
  const bool unreached = failure != nullptr && !failure->sent &&
                         (failure->kind == http::FailureKind::kConnect ||
                          failure->kind == http::FailureKind::kResolve);
  if (note(server, std::move(facts), unreached) && options_.on_change) options_.on_change(server);
}

// Whether it is another than before.
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
    changed = changed || reading.models != facts->models;
    reading.models = std::move(facts->models);
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

size_t UpstreamWatch::answering() const {
  return core_->answering();
}

}  // namespace windrow::upstream
