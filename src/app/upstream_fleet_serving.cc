// What serving adds to UpstreamFleet: which models are offered, who of the servers is there at
// the moment, and what /metrics says of them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/upstream_fleet.h"
#include "upstream/models_reply.h"

namespace windrow::app {
namespace {

// How often a server is asked whether it is there, and how long those must be away who have a model
// before that is said to clients: a restart takes less.
constexpr Duration kAskedEvery = std::chrono::seconds(5);
constexpr Duration kAwayAfter = std::chrono::seconds(3);

}  // namespace

// Every name that a server lists, and every alias. Where one does not say what it has, or takes
// more names than it lists, names that nobody lists go there too.
std::vector<FleetModel> UpstreamFleet::offered() const {
  std::vector<std::string> names;
  bool any = false;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  {
    const std::scoped_lock lock(watch_mutex_);
    for (const auto& server : servers_) {
      if (!server->there) continue;
      if (server->models) std::ranges::for_each(*server->models, add);
      for (const auto& [name, theirs] : server->choice.aliases)
        add(name);
      any = any || !server->models || server->ollama;
    }
  }
  constexpr std::string_view kAny = "any";
  std::vector<FleetModel> list;
  const auto offer = [&](const std::string& name, uint64_t upstreams, bool is_any) {
    list.push_back({.model = {.name = name,
                              .dispatcher = dispatcher_.get(),
                              .endpoints = llm::EndpointSet(
                                  {llm::Endpoint::kChatCompletions, llm::Endpoint::kCompletions,
                                   llm::Endpoint::kEmbeddings, llm::Endpoint::kRerank}),
                              .raw = true,
                              .upstreams = upstreams,
                              .created_unix_s = clock_.unix_seconds(),
                              .owner = "upstream"},
                    .aliases = {},
                    .any = is_any});
  };
  for (const std::string& name : names)
    offer(name, upstreams_of(name), false);
  if (any) offer(std::string(kAny), upstreams_of(std::string(kAny)), true);
  return list;
}

// As the watch saw it last; the dispatcher knows it from requests only.
bool UpstreamFleet::is_there(size_t index) const {
  const std::scoped_lock lock(watch_mutex_);
  return servers_[index]->answers;
}

// They are open.
std::vector<llm::UpstreamStatus> UpstreamFleet::series() const {
  std::vector<llm::UpstreamStatus> list;
  const std::vector<dispatch::UpstreamReading> readings = dispatcher_->readings();
  for (size_t i = 0; i < servers_.size(); ++i) {
    const upstream::CallCounts counts = servers_[i]->backend->counts();
    const dispatch::UpstreamReading& reading = readings[i];
    llm::UpstreamStatus one{.name = servers_[i]->backend->name(),
                            .healthy = is_there(i) && reading.health == dispatch::Health::kGood,
                            .answers = counts.answers,
                            .latency_s = counts.latency_s,
                            .in_flight = reading.in_flight,
                            .in_flight_max = reading.in_flight_max};
    for (size_t kind = 0; kind < upstream::kFailureKinds; ++kind) {
      one.failures_by_kind.emplace_back(
          upstream::to_string(static_cast<upstream::FailureKind>(kind)),
          counts.failures_by_kind.at(kind));
    }
    list.push_back(std::move(one));
  }
  return list;
}

void UpstreamFleet::watch(std::function<void()> changed) {
  std::unique_ptr<upstream::UpstreamWatch> before;  // its end waits for what it is telling
  {
    const std::scoped_lock lock(watch_mutex_);
    before = std::move(server_watch_);
  }
  before.reset();
  if (!changed) return;
  std::vector<upstream::UpstreamOptions> servers;
  servers.reserve(choices_.size());
  for (const UpstreamChoice& choice : choices_)
    servers.push_back(upstream_options(choice, settings_));
  const std::scoped_lock lock(watch_mutex_);
  server_watch_ = std::make_unique<upstream::UpstreamWatch>(
      *loop_, *client_, std::move(servers),
      upstream::WatchOptions{
          .times = {.period = kAskedEvery},
          .on_change = [this, changed = std::move(changed)](
                           size_t index) { server_changed(index, changed); },
          .seed = static_cast<uint64_t>(clock_.now().time_since_epoch().count())});
}

void UpstreamFleet::server_changed(size_t index, const std::function<void()>& changed) {
  upstream::ServerReading reading;
  bool answered = false;
  {
    const std::scoped_lock lock(watch_mutex_);
    if (!server_watch_) return;
    reading = server_watch_->reading(index);
    Server& server = *servers_[index];
    answered = std::exchange(server.answers, reading.answers);
    if (reading.answers) {
      if (server.late && !server.late->has_joined()) join(server, reading.identity);
      server.there = true;
      server.models = reading.models;
    }
  }
  const std::string& name = servers_[index]->backend->name();
  if (reading.answers && !answered) {
    const std::string known =
        known_of(reading.identity, reading.models ? upstream::models_text(*reading.models) : "");
    console_.note(fmt::format("{} answers{}{}", name, known.empty() ? "" : ": ", known));
  } else if (!reading.answers && answered) {
    console_.warn(fmt::format("{}; it is asked again", reading.problem));
  }
  changed();
}

// Before any row goes there. Called with the lock of what the watch changes.
void UpstreamFleet::join(Server& server, const upstream::ServerIdentity& identity) {
  server.identity = identity;
  add_care(server);
  server.late->join(server.ollama ? static_cast<llm::Backend&>(*server.ollama) : *server.backend);
}

bool UpstreamFleet::nobody_answers(uint64_t upstreams) const {
  const std::scoped_lock lock(watch_mutex_);
  if (!server_watch_) return false;
  const TimePoint since_at_least = clock_.now() - kAwayAfter;
  const dispatch::WorkItem item{.upstreams = upstreams};
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (!item.may_go_to(dispatch::UpstreamId(i))) continue;
    const std::optional<TimePoint> since = server_watch_->unreached_since(i);
    if (!since || *since > since_at_least) return false;
  }
  return true;
}

std::vector<api::ModelReading> UpstreamFleet::readings() const {
  const llm::BackendStats sum = stats();
  const std::scoped_lock lock(open_mutex_);
  if (!open_) return {};
  return {{.name = "upstream",
           .stats = sum,
           .queue = dispatcher_->queue(),
           .dispatch = dispatcher_->counts(),
           .upstreams = series()}};
}

}  // namespace windrow::app
