#include "app/upstream_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <future>
#include <set>
#include <tuple>
#include <utility>

#include "app/client_options.h"
#include "app/open_files.h"
#include "app/reply_memory.h"
#include "base/format.h"
#include "base/hash.h"
#include "http/curl_client.h"
#include "upstream/identify_server.h"
#include "upstream/models_reply.h"

namespace windrow::app {
namespace {

namespace json = boost::json;

// A server that batches well takes about so many requests at a time.
constexpr int32_t kInFlightMax = 1024;

// Rows that lie ready beyond what is in flight, so that each server has some of its own groups.
constexpr int32_t kWaitingPerUpstream = 64;

// Replies that are none, before anybody has answered.
constexpr int64_t kAllFailedAfter = 40;

// Addresses are for those who run this, who find them on the console.
constexpr std::string_view kServerToClients = "a server behind this one";

// Under which names the servers know models: the same question under another one is another.
std::string scope_of(const std::vector<UpstreamChoice>& choices) {
  std::set<std::string> names;
  for (const UpstreamChoice& choice : choices) {
    for (const auto& [name, theirs] : choice.aliases)
      names.insert(name + "=" + theirs);
  }
  std::string scope;
  for (const std::string& name : names)
    scope += name + "\n";
  return scope;
}

std::string state_text(dispatch::Health health) {
  switch (health) {
    case dispatch::Health::kGood:
      return "ok";
    case dispatch::Health::kEjected:
      return "left alone";
    case dispatch::Health::kProbing:
      return "being tried";
  }
  return "";
}

std::vector<std::pair<std::string, int64_t>> most_frequent_first(
    const std::map<std::string, int64_t, std::less<>>& counts) {
  std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
  std::ranges::sort(list, [](const auto& one, const auto& other) {
    return std::tie(other.second, one.first) < std::tie(one.second, other.first);
  });
  return list;
}

}  // namespace

UpstreamFleet::UpstreamFleet(std::vector<UpstreamChoice> choices, Spending spending,
                             const Settings& settings, const Environment& environment,
                             store::Disk& disk, const Clock& clock, Console& console)
    : choices_(std::move(choices)),
      spending_(std::move(spending)),
      settings_(settings),
      environment_(environment),
      disk_(disk),
      clock_(clock),
      console_(console) {}

json::array UpstreamFleet::description() const {
  json::array servers;
  for (const UpstreamChoice& choice : choices_)
    servers.push_back(json::object{{"url", http::to_string(choice.base)}});
  return servers;
}

void UpstreamFleet::tell_failure(const std::string& server, const llm::Failure& failure) {
  std::optional<std::string> text;
  {
    const std::scoped_lock lock(news_mutex_);
    text = news_.tell(clock_.now(), server, failure);
  }
  if (text) console_.note(*text);
  if (have_all_failed(failure) && on_all_failed_) on_all_failed_();
}

// True once: when so many requests were taken and none was ever answered, by no server. To go on
// would be to fail row after row, with ever longer pauses.
bool UpstreamFleet::have_all_failed(const llm::Failure& failure) {
  const bool useless = failure.failure_class == llm::FailureClass::kTransient &&
                       !failure.overloaded && !failure.unreached && !failure.short_of_files &&
                       !failure.answered;
  if (!useless) return false;
  const bool answered = std::ranges::any_of(
      servers_, [](const auto& server) { return server->backend->counts().answers > 0; });
  const std::scoped_lock lock(news_mutex_);
  ++useless_;
  if (answered || useless_ < kAllFailedAfter || all_failed_) return false;
  all_failed_ = Error{
      ErrorKind::kUnavailable,
      fmt::format("of {} requests none was answered; the last: {}", useless_, failure.message)};
  return true;
}

// Ollama says it only when the model is loaded.
void UpstreamFleet::tell_context(const std::string& server, const std::string& model,
                                 int64_t tokens) const {
  if (tokens == 0) {
    console_.warn(
        fmt::format("{} does not say what context {} has; Ollama cuts prompts that are "
                    "longer silently, and nothing here will notice",
                    server, model));
    return;
  }
  console_.note(
      fmt::format("{}: {} has a context of {} tokens; longer rows fail instead of being "
                  "answered over half a prompt",
                  server, model, with_thousands(tokens)));
}

dispatch::DispatchOptions UpstreamFleet::dispatch_options(const FleetOptions& run) {
  dispatch::DispatchOptions options;
  options.attempts_max = static_cast<int32_t>(settings_.attempts_max);
  options.waiting_max = run.serving ? static_cast<int32_t>(settings_.queue_max)
                                    : kWaitingPerUpstream * static_cast<int32_t>(choices_.size());
  options.backoff_base = std::chrono::seconds(1);
  if (run.serving) {
    options.reserve = queueing::kServerReserve;
    options.refusal_patience = std::chrono::seconds(settings_.refusal_patience_s);
  }
  options.quotas.clear();
  for (const UpstreamChoice& choice : choices_) {
    options.quotas.push_back({.requests_per_minute = choice.requests_per_minute,
                              .tokens_per_minute = choice.tokens_per_minute});
  }
  options.packer.rows_max = settings_.batching ? static_cast<int32_t>(settings_.pack_rows_max) : 1;
  options.packer.window = std::chrono::milliseconds(settings_.pack_window_ms);
  options.on_batch = [this](const dispatch::SentBatch& batch) { tell_batch(batch); };
  options.coalesce = settings_.dedupe;
  options.cache = cache_.get();
  options.cache_scope = scope_of(choices_);
  options.calls_max = run.requests_max;
  options.on_calls_max = [this, files_max = run.files_max, requests_max = run.requests_max] {
    console_.warn(requests_bound_text(files_max, requests_max));
  };
  options.cost_max = spending_.cost_max;
  options.cost_of = [this](const llm::Request& request, const llm::Usage& usage) {
    return spending_.of(request, usage);
  };
  options.on_budget_spent = run.on_budget_spent;
  return options;
}

// "Ollama 0.12.3, it has a and b"
std::string UpstreamFleet::known_of(const upstream::ServerIdentity& identity,
                                    const std::string& models) {
  const std::string kind = upstream::to_string(identity);
  return kind.empty() || models.empty() ? kind + models : kind + ", " + models;
}

// Facts of those that answer; `choices_` is cut down to them, where nobody waits for the others.
// Each may take seconds to say that it is not there, so all are asked at once.
Result<std::vector<UpstreamFleet::Facts>> UpstreamFleet::ask_all(bool serving) {
  std::vector<std::future<Result<upstream::UpstreamFacts>>> asked;
  asked.reserve(choices_.size());
  for (const UpstreamChoice& choice : choices_) {
    asked.push_back(std::async(std::launch::async, [this, &choice] {
      return upstream::ask_upstream(*client_, upstream_options(choice, settings_));
    }));
  }
  std::vector<UpstreamChoice> there;
  std::vector<Facts> list;
  bool any = false;
  std::optional<Error> first_error;
  for (size_t i = 0; i < choices_.size(); ++i) {
    Result<upstream::UpstreamFacts> facts = asked[i].get();
    any = any || facts.has_value();
    if (facts || serving) there.push_back(choices_[i]);
    if (facts) {
      list.emplace_back(*std::move(facts));
      continue;
    }
    if (serving) list.emplace_back();
    if (choices_.size() > 1) {
      console_.warn(
          fmt::format("{}; {}", facts.error().message,
                      serving ? "it joins when it answers" : "this run goes without this server"));
    }
    if (!first_error) first_error = facts.error();
  }
  if (!any && choices_.size() == 1) return *first_error;
  if (!any) {
    return Error{ErrorKind::kUnavailable,
                 fmt::format("none of the {} servers answers", choices_.size())};
  }
  choices_ = std::move(there);
  return list;
}

upstream::UpstreamOptions UpstreamFleet::backend_options(const UpstreamChoice& choice) const {
  upstream::UpstreamOptions options = upstream_options(choice, settings_);
  options.schemas = schemas_.get();
  if (serving_) options.client_name = kServerToClients;
  return options;
}

void UpstreamFleet::add_server(const UpstreamChoice& choice, const Facts& facts) {
  auto server = std::make_unique<Server>();
  server->choice = choice;
  upstream::UpstreamOptions options = backend_options(choice);
  const std::string name = http::origin(options.base);
  server->there = server->answers = facts.has_value();
  if (facts) {
    server->identity = upstream::identify_server(*client_, options);
    server->models = facts->models;
    if (facts->models) options.models = upstream::models_text(*facts->models);
  }
  const std::string known = known_of(server->identity, options.models);
  if (!known.empty()) note_ += fmt::format("{}{}: {}", note_.empty() ? "" : "; ", name, known);
  server->memory =
      std::make_unique<upstream::MemoryPoll>(*client_, clock_, options, server->identity.kind);
  options.on_failure = [this, name](const llm::Failure& failure) { tell_failure(name, failure); };
  const int32_t in_flight = options.in_flight;
  server->backend =
      std::make_unique<upstream::UpstreamBackend>(*client_, clock_, std::move(options));
  if (facts) {
    add_care(*server);
  } else {
    server->late =
        std::make_unique<upstream::DeferredBackend>(std::string(kServerToClients), in_flight);
  }
  if (watch_)
    server->checked = std::make_unique<upstream::CheckedBackend>(way_to(*server), name, *watch_);
  servers_.push_back(std::move(server));
}

// Puts the backend for Ollama before a server that turned out to be one.
void UpstreamFleet::add_care(Server& server) {
  if (server.identity.kind != upstream::ServerKind::kOllama) return;
  server.ollama = std::make_unique<upstream::OllamaBackend>(
      *client_, *server.backend, backend_options(server.choice),
      [this, name = server.backend->name()](const std::string& model, int64_t tokens) {
        tell_context(name, model, tokens);
      });
}

llm::Backend& UpstreamFleet::way_to(Server& server) {
  if (server.checked) return *server.checked;
  if (server.late && !server.late->has_joined()) return *server.late;
  if (server.ollama) return *server.ollama;
  return *server.backend;
}

Result<void> UpstreamFleet::open(const FleetOptions& run) {
  on_all_failed_ = run.on_all_failed;
  serving_ = run.serving;
  loop_ = std::make_unique<http::Loop>(clock_);
  http::ClientOptions client = client_options(environment_);
  // A few more for questions that are no rows.
  if (run.requests_max > 0)
    client.connections_max = static_cast<size_t>(run.requests_max) + own_files(run.files_max) / 4;
  // Clients of a server hear most answers as streams, which are passed on.
  if (!run.serving) {
    reply_budget_.emplace(reply_memory_bytes(settings_.reply_memory_mb, machine_memory_bytes()));
    client.reply_budget = &*reply_budget_;
  }
  client_ = std::make_unique<http::CurlClient>(*loop_, std::move(client));
  const Result<std::vector<Facts>> facts = ask_all(run.serving);
  if (!facts) return facts.error();
  if (run.refusal) {
    if (std::optional<Error> refusal = run.refusal()) return *std::move(refusal);
  }
  if (!settings_.cache.empty()) {
    Result<std::unique_ptr<dispatch::ResponseCache>> cache =
        dispatch::ResponseCache::open(disk_, settings_.cache);
    if (!cache) return cache.error().in("--cache");
    cache_ = *std::move(cache);
  }
  if (settings_.self_check) {
    const auto ticks = static_cast<uint64_t>(clock_.now().time_since_epoch().count());
    watch_ = std::make_unique<upstream::MixUpWatch>(hash64(
        choices_.front().base.host, ticks ^ static_cast<uint64_t>(clock_.unix_seconds()) << 32U));
  }
  schemas_ = std::make_unique<upstream::AnswerSchemas>(
      [this](const std::string& why) { console_.warn(why); });
  std::vector<dispatch::DispatchUpstream> upstreams;
  for (size_t i = 0; i < choices_.size(); ++i) {
    add_server(choices_[i], (*facts)[i]);
    Server& server = *servers_.back();
    upstreams.push_back(
        {.backend = &way_to(server),
         .concurrency = dispatch::ConcurrencyOptions{.fixed = server.choice.concurrency.value_or(0),
                                                     .limit_max = kInFlightMax},
         .quota = i});
  }
  waker_ = std::make_unique<dispatch::ThreadWaker>(clock_);
  dispatcher_ = std::make_unique<dispatch::Dispatcher>(std::move(upstreams), dispatch_options(run),
                                                       clock_, *waker_);
  routes_.push_back({"upstream", dispatcher_.get()});
  const std::scoped_lock lock(open_mutex_);
  open_ = true;
  return {};
}

void UpstreamFleet::tell_batch(const dispatch::SentBatch& batch) {
  console_.event("batch", {{"upstream", servers_[batch.upstream.value()]->backend->name()},
                           {"rows", batch.rows},
                           {"tokens", batch.tokens},
                           {"reason", dispatch::to_string(batch.reason)}});
}

dispatch::DispatchCounts UpstreamFleet::counts() const {
  const std::scoped_lock lock(open_mutex_);
  return open_ ? dispatcher_->counts() : dispatch::DispatchCounts{};
}

// A name that nobody lists may still be one that a server takes, or that it refuses best itself.
uint64_t UpstreamFleet::upstreams_of(const std::string& model) const {
  const std::scoped_lock lock(watch_mutex_);
  constexpr size_t kBits = 64;
  uint64_t some = 0;
  for (size_t i = 0; i < servers_.size() && i < kBits; ++i) {
    const Server& server = *servers_[i];
    if (!server.there) continue;
    const auto alias = server.choice.aliases.find(model);
    const std::string& theirs = alias == server.choice.aliases.end() ? model : alias->second;
    if (!server.models || upstream::has_model(*server.models, theirs)) some |= uint64_t{1} << i;
  }
  return some;
}

// A question goes the way of a row, so it keeps to every limit.
void UpstreamFleet::before_row(const llm::Request& row) {
  if (!watch_) return;
  std::optional<llm::Request> question = watch_->question_beside(row);
  if (!question) return;
  const auto cost = spending_.expected(*question);
  if (!std::holds_alternative<dispatch::Cost>(cost)) return;
  const dispatch::WorkItem item{.tokens = upstream::kQuestionTokensMax,
                                .upstreams = upstreams_of(question->model)};
  std::ignore = dispatcher_->submit(*std::move(question), item, std::get<dispatch::Cost>(cost),
                                    [](const dispatch::DispatchResult&) {});
}

// Questions may be out still when the last row has ended.
std::optional<Error> UpstreamFleet::final_error() {
  {
    const std::scoped_lock lock(news_mutex_);
    if (all_failed_) return all_failed_;
  }
  if (!watch_) return std::nullopt;
  dispatcher_->wait_idle();
  return watch_->verdict();
}

std::string UpstreamFleet::runtime() const {
  std::string text;
  for (const UpstreamChoice& choice : choices_)
    text += (text.empty() ? "" : ", ") + http::origin(choice.base);
  return text;
}

llm::BackendStats UpstreamFleet::stats() const {
  llm::BackendStats stats;
  const std::scoped_lock lock(open_mutex_);
  if (!open_) return stats;
  for (const auto& server : servers_)
    stats += server->backend->stats();
  return stats;
}

std::vector<llm::UpstreamStatus> UpstreamFleet::upstreams() const {
  std::vector<llm::UpstreamStatus> list;
  const std::scoped_lock lock(open_mutex_);
  if (!open_) return list;
  const std::vector<dispatch::UpstreamReading> readings = dispatcher_->readings();
  for (size_t i = 0; i < servers_.size(); ++i) {
    const upstream::UpstreamBackend& backend = *servers_[i]->backend;
    const upstream::CallCounts counts = backend.counts();
    const llm::BackendStats stats = backend.stats();
    const dispatch::UpstreamReading& reading = readings[i];
    servers_[i]->memory->ask_when_due();
    const upstream::MemoryPoll::Reading memory = servers_[i]->memory->reading();
    if (reading.finding.kind == dispatch::ConcurrencyKind::kSerial) tell_serial(*servers_[i]);
    list.push_back({.name = backend.name(),
                    .answers = counts.answers,
                    .failures = counts.failures,
                    .failures_by_code = most_frequent_first(counts.failures_by_code),
                    .prompt_tokens = stats.prompt_tokens + stats.cached_tokens,
                    .generated_tokens = stats.generated_tokens,
                    .latency_s = counts.latency_s,
                    .in_flight = reading.in_flight,
                    .in_flight_max = reading.in_flight_max,
                    .state = state_text(reading.health),
                    .finding = dispatch::to_string(reading.finding),
                    .device_bytes = memory.now.device_bytes,
                    .cache_used = memory.now.cache_used,
                    .cache_used_max = memory.most.cache_used});
  }
  return list;
}

// Said once: rows run one after the other there, which people did not ask for.
void UpstreamFleet::tell_serial(Server& server) const {
  if (server.told_serial.exchange(true)) return;
  console_.note(fmt::format("{} answers one request at a time. {}", server.backend->name(),
                            upstream::advice_if_serial(server.identity.kind)));
}

std::vector<std::string> UpstreamFleet::final_notes() const {
  std::vector<std::string> words;
  if (cache_) {
    if (const std::optional<Error> error = cache_->reading().error) {
      words.push_back(fmt::format("--cache {}: answers are not kept any more: {}", settings_.cache,
                                  error->message));
    }
  }
  if (watch_) words.push_back(upstream::to_string(watch_->counts()));
  return words;
}

}  // namespace windrow::app
