#include "upstream/upstream_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "upstream/ask_upstream.h"
#include "upstream/deferred_backend.h"
#include "upstream/device_memory.h"
#include "upstream/ollama_backend.h"
#include "upstream/self_check.h"

namespace windrow::upstream {
namespace {

// Addresses are for the owner of the server, who finds them on the console.
constexpr std::string_view kNameForClients = "a server behind this one";

// How often a server is asked whether it is reachable, and how long it must be away before clients
// learn of it: a restart takes less.
constexpr Duration kWatchPeriod = std::chrono::seconds(5);
constexpr Duration kUnreachableAfter = std::chrono::seconds(3);

constexpr size_t kMaskBits = 64;

bool is_in(uint64_t servers, size_t index) {
  return servers == 0 || index >= kMaskBits || (servers >> index & 1U) != 0;
}

// "Ollama 0.12.3, it has a and b"
std::string describe(const ServerIdentity& identity, const std::string& models) {
  const std::string kind = to_string(identity);
  return kind.empty() || models.empty() ? kind + models : kind + ", " + models;
}

}  // namespace

struct UpstreamFleet::Server {
  size_t position = 0;
  UpstreamOptions options;  // as configured, with what the fleet adds for all backends
  ServerIdentity identity;

  std::unique_ptr<UpstreamBackend> backend;
  std::unique_ptr<OllamaBackend> ollama;      // in front of it, for Ollama
  std::unique_ptr<DeferredBackend> deferred;  // where it was not reachable at first
  std::unique_ptr<CheckedBackend> checked;    // with the self-check
  std::unique_ptr<MemoryPoll> memory;
  std::atomic<bool> serial_noted = false;

  // Changed by the watch, under its lock.
  bool seen = true;  // it has answered once
  bool answers = true;
  std::optional<std::vector<std::string>> models;  // absent: it does not list them

  // Where requests for it go in.
  llm::Backend& entry() {
    if (checked) return *checked;
    if (deferred && !deferred->has_joined()) return *deferred;
    if (ollama) return *ollama;
    return *backend;
  }
};

UpstreamFleet::UpstreamFleet(http::Loop& loop, http::Client& client, const Clock& clock,
                             DiscoveryOptions options)
    : loop_(loop), client_(client), clock_(clock), options_(std::move(options)) {}

UpstreamFleet::~UpstreamFleet() {
  watch({});
}

// --- discovery ---

// An absent server may take seconds to show, so all are asked at once.
Result<std::vector<UpstreamFleet::Reachable>> UpstreamFleet::ask_all() const {
  std::vector<std::future<Result<UpstreamFacts>>> asked;
  asked.reserve(options_.servers.size());
  for (const UpstreamOptions& server : options_.servers) {
    asked.push_back(
        std::async(std::launch::async, [this, &server] { return ask_upstream(client_, server); }));
  }
  std::vector<Reachable> found;
  bool any = false;
  std::optional<Error> first_error;
  for (size_t i = 0; i < asked.size(); ++i) {
    Result<UpstreamFacts> facts = asked[i].get();
    any = any || facts.has_value();
    if (facts) {
      found.push_back({.position = i, .answers = true, .models = std::move(facts->models)});
      continue;
    }
    if (options_.serving) found.push_back({.position = i, .answers = false, .models = {}});
    if (asked.size() > 1) {
      options_.warn(fmt::format(
          "{}; {}", facts.error().message,
          options_.serving ? "it joins when it answers" : "this run goes without this server"));
    }
    if (!first_error) first_error = facts.error();
  }
  if (any) return found;
  if (asked.size() == 1) return *first_error;
  return Error{ErrorKind::kUnavailable,
               fmt::format("none of the {} servers answers", asked.size())};
}

Result<void> UpstreamFleet::open(const std::function<std::optional<Error>()>& refusal) {
  Result<std::vector<Reachable>> found = ask_all();
  if (!found) return found.error();
  if (refusal) {
    if (std::optional<Error> refused = refusal()) return *std::move(refused);
  }
  if (options_.self_check) {
    const auto ticks = static_cast<uint64_t>(clock_.now().time_since_epoch().count());
    const std::string& host = options_.servers[found->front().position].base.host;
    mix_ups_ = std::make_unique<MixUpWatch>(
        hash64(host, ticks ^ static_cast<uint64_t>(clock_.unix_seconds()) << 32U));
  }
  schemas_ = std::make_unique<AnswerSchemas>(options_.warn);
  for (Reachable& server : *found)
    add_server(std::move(server));
  return {};
}

void UpstreamFleet::add_server(Reachable found) {
  auto server = std::make_unique<Server>();
  server->position = found.position;
  server->options = options_.servers[found.position];
  server->options.schemas = schemas_.get();
  if (options_.serving) server->options.client_name = kNameForClients;
  server->seen = server->answers = found.answers;
  const std::string name = http::origin(server->options.base);
  UpstreamOptions options = server->options;
  if (found.answers) {
    server->identity = identify_server(client_, options);
    if (found.models) options.models = models_text(*found.models);
    server->models = std::move(found.models);
  }
  const std::string known = describe(server->identity, options.models);
  if (!known.empty())
    description_ += fmt::format("{}{}: {}", description_.empty() ? "" : "; ", name, known);
  server->memory = std::make_unique<MemoryPoll>(client_, clock_, options, server->identity.kind);
  options.on_failure = [this, name](const llm::Failure& failure) { report_failure(name, failure); };
  const int32_t in_flight = options.in_flight;
  server->backend = std::make_unique<UpstreamBackend>(client_, clock_, std::move(options));
  if (found.answers) {
    add_ollama_checks(*server);
  } else {
    server->deferred = std::make_unique<DeferredBackend>(std::string(kNameForClients), in_flight);
  }
  if (mix_ups_)
    server->checked = std::make_unique<CheckedBackend>(server->entry(), name, *mix_ups_);
  servers_.push_back(std::move(server));
}

void UpstreamFleet::add_ollama_checks(Server& server) {
  if (server.identity.kind != ServerKind::kOllama) return;
  server.ollama = std::make_unique<OllamaBackend>(
      client_, *server.backend, server.options,
      [this, name = server.backend->name()](const std::string& model, int64_t tokens) {
        report_context(name, model, tokens);
      });
}

// --- what is known ---

size_t UpstreamFleet::position(size_t server) const {
  return servers_[server]->position;
}

const UpstreamOptions& UpstreamFleet::options_of(size_t server) const {
  return servers_[server]->options;
}

llm::Backend& UpstreamFleet::backend(size_t server) {
  return servers_[server]->entry();
}

uint64_t UpstreamFleet::servers_with(const std::string& model) const {
  const std::scoped_lock lock(watch_mutex_);
  uint64_t found = 0;
  for (size_t i = 0; i < servers_.size() && i < kMaskBits; ++i) {
    const Server& server = *servers_[i];
    if (!server.seen) continue;
    const auto alias = server.options.aliases.find(model);
    const std::string& theirs = alias == server.options.aliases.end() ? model : alias->second;
    if (!server.models || has_model(*server.models, theirs)) found |= uint64_t{1} << i;
  }
  return found;
}

ServerKind UpstreamFleet::kind_of(uint64_t servers) const {
  const std::scoped_lock lock(watch_mutex_);
  ServerKind kind = ServerKind::kUnknown;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const ServerKind its = servers_[i]->identity.kind;
    if (!is_in(servers, i) || !servers_[i]->seen || its == kind) continue;
    if (kind != ServerKind::kUnknown) return ServerKind::kUnknown;
    kind = its;
  }
  return kind;
}

// Ollama takes more names than it lists.
UpstreamFleet::Models UpstreamFleet::models() const {
  Models models;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(models.names, name) == models.names.end()) models.names.push_back(name);
  };
  const std::scoped_lock lock(watch_mutex_);
  for (const auto& server : servers_) {
    if (!server->seen) continue;
    if (server->models) std::ranges::for_each(*server->models, add);
    for (const auto& [name, theirs] : server->options.aliases)
      add(name);
    models.any = models.any || !server->models || server->ollama;
  }
  return models;
}

llm::BackendStats UpstreamFleet::stats() const {
  llm::BackendStats stats;
  for (const auto& server : servers_)
    stats += server->backend->stats();
  return stats;
}

std::vector<llm::UpstreamStatus> UpstreamFleet::status() const {
  std::vector<llm::UpstreamStatus> list;
  list.reserve(servers_.size());
  for (const auto& server : servers_) {
    llm::UpstreamStatus status = server->backend->status();
    const MemoryPoll::Reading memory = server->memory->reading();
    status.device_bytes = memory.now.device_bytes;
    status.cache_used = memory.now.cache_used;
    status.cache_used_max = memory.most.cache_used;
    {
      const std::scoped_lock lock(watch_mutex_);
      status.healthy = server->answers;
    }
    list.push_back(std::move(status));
  }
  return list;
}

void UpstreamFleet::poll_memory() {
  for (const auto& server : servers_)
    server->memory->ask_when_due();
}

// The owner did not ask for rows that run one after the other.
void UpstreamFleet::note_serial(size_t server) {
  Server& serial = *servers_[server];
  if (serial.serial_noted.exchange(true)) return;
  options_.note(fmt::format("{} answers one request at a time. {}", serial.backend->name(),
                            advice_if_serial(serial.identity.kind)));
}

// --- reachability ---

void UpstreamFleet::watch(std::function<void()> changed) {
  std::unique_ptr<UpstreamWatch> before;  // its destructor waits for a call of `changed`
  {
    const std::scoped_lock lock(watch_mutex_);
    before = std::move(watch_);
  }
  before.reset();
  if (!changed) return;
  std::vector<UpstreamOptions> servers;
  servers.reserve(servers_.size());
  for (const auto& server : servers_)
    servers.push_back(options_.servers[server->position]);
  const std::scoped_lock lock(watch_mutex_);
  watch_ = std::make_unique<UpstreamWatch>(
      loop_, client_, std::move(servers),
      WatchOptions{.times = {.period = kWatchPeriod},
                   .on_change = [this, changed = std::move(changed)](
                                    size_t index) { server_changed(index, changed); },
                   .seed = static_cast<uint64_t>(clock_.now().time_since_epoch().count())});
}

void UpstreamFleet::server_changed(size_t index, const std::function<void()>& changed) {
  ServerReading reading;
  bool answered = false;
  {
    const std::scoped_lock lock(watch_mutex_);
    if (!watch_) return;
    reading = watch_->reading(index);
    Server& server = *servers_[index];
    answered = std::exchange(server.answers, reading.answers);
    if (reading.answers) {
      if (server.deferred && !server.deferred->has_joined()) join(server, reading.identity);
      server.seen = true;
      server.models = reading.models;
    }
  }
  const std::string& name = servers_[index]->backend->name();
  if (reading.answers && !answered) {
    const std::string known =
        describe(reading.identity, reading.models ? models_text(*reading.models) : "");
    options_.note(fmt::format("{} answers{}{}", name, known.empty() ? "" : ": ", known));
  } else if (!reading.answers && answered) {
    options_.warn(fmt::format("{}; it is asked again", reading.problem));
  }
  changed();
}

// Before any request goes there. Called under the lock of the watch.
void UpstreamFleet::join(Server& server, const ServerIdentity& identity) {
  server.identity = identity;
  add_ollama_checks(server);
  server.deferred->join(server.ollama ? static_cast<llm::Backend&>(*server.ollama)
                                      : *server.backend);
}

bool UpstreamFleet::is_unreachable(uint64_t servers) const {
  const std::scoped_lock lock(watch_mutex_);
  if (!watch_) return false;
  const TimePoint since_at_least = clock_.now() - kUnreachableAfter;
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!is_in(servers, i)) continue;
    const std::optional<TimePoint> since = watch_->unreached_since(i);
    if (!since || *since > since_at_least) return false;
  }
  return true;
}

// --- failures ---

void UpstreamFleet::report_failure(const std::string& server, const llm::Failure& failure) {
  const bool any_answer = std::ranges::any_of(
      servers_, [](const auto& one) { return one->backend->stats().steps > 0; });
  std::optional<std::string> text;
  bool all_failed = false;
  {
    const std::scoped_lock lock(failures_mutex_);
    text = failure_reports_.add(clock_.now(), server, failure);
    all_failed = all_failed_rule_.add(failure, any_answer);
  }
  if (text) options_.note(*text);
  if (all_failed && options_.on_all_failed) options_.on_all_failed();
}

// Ollama tells the context of a model only when the model is loaded.
void UpstreamFleet::report_context(const std::string& server, const std::string& model,
                                   int64_t tokens) const {
  if (tokens == 0) {
    options_.warn(
        fmt::format("{} does not tell the context of {}; Ollama cuts longer prompts silently, "
                    "and that cannot be detected",
                    server, model));
    return;
  }
  options_.note(
      fmt::format("{}: {} has a context of {} tokens; longer rows fail instead of being "
                  "answered over half a prompt",
                  server, model, with_thousands(tokens)));
}

std::optional<Error> UpstreamFleet::all_failed() const {
  const std::scoped_lock lock(failures_mutex_);
  return all_failed_rule_.error();
}

std::optional<llm::Request> UpstreamFleet::question_beside(const llm::Request& row) {
  return mix_ups_ ? mix_ups_->question_beside(row) : std::nullopt;
}

}  // namespace windrow::upstream
