#include "fleet/upstream_fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "fleet/load_tokenizer.h"
#include "http/curl_client.h"
#include "queueing/reserve.h"

namespace windrow::fleet {
namespace {

// A server that batches well takes about so many requests at a time.
constexpr int32_t kInFlightMax = 1024;

// Rows of a job that lie ready beyond those in flight, so that each server has some of its own
// groups.
constexpr int32_t kWaitingPerUpstream = 64;

// The model that answers for names that no server lists.
constexpr std::string_view kAnyModel = "any";

// The names under which servers know models: the same question under another name is another one.
std::string cache_scope(const upstream::UpstreamFleet& servers) {
  std::set<std::string> names;
  for (size_t i = 0; i < servers.size(); ++i) {
    for (const auto& [name, theirs] : servers.options_of(i).aliases)
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

}  // namespace

UpstreamDispatch::UpstreamDispatch(UpstreamFleetOptions options, store::Disk& disk,
                                   const Clock& clock, FleetEvents& events)
    : options_(std::move(options)), disk_(disk), clock_(clock), events_(events) {}

UpstreamDispatch::~UpstreamDispatch() = default;

Result<void> UpstreamDispatch::open(const Start& start) {
  loop_ = std::make_unique<http::Loop>(clock_);
  http::ClientOptions client = options_.client;
  // Clients of a server get most answers as streams, which are passed on.
  if (!start.serving) {
    reply_budget_.emplace(options_.reply_memory_bytes);
    client.reply_budget = &*reply_budget_;
  }
  client_ = std::make_unique<http::CurlClient>(*loop_, std::move(client));
  upstream::DiscoveryOptions discovery{
      .servers = {},
      .serving = start.serving,
      .self_check = options_.self_check,
      .note = [this](const std::string& text) { events_.note(text); },
      .warn = [this](const std::string& text) { events_.warn(text); },
      .on_all_failed = start.on_all_failed};
  for (const UpstreamChoice& choice : options_.choices)
    discovery.servers.push_back(choice.server);
  servers_ =
      std::make_unique<upstream::UpstreamFleet>(*loop_, *client_, clock_, std::move(discovery));
  if (Result<void> opened = servers_->open(start.refusal); !opened) return opened.error();
  if (!options_.cache.empty()) {
    Result<std::unique_ptr<dispatch::ResponseCache>> cache =
        dispatch::ResponseCache::open(disk_, options_.cache);
    if (!cache) return cache.error().in("--cache");
    cache_ = *std::move(cache);
  }
  std::vector<dispatch::DispatchUpstream> upstreams;
  for (size_t i = 0; i < servers_->size(); ++i) {
    const UpstreamChoice& choice = options_.choices[servers_->position(i)];
    llm::Backend* backend = &servers_->backend(i);
    if (start.tokenizers != nullptr) {
      watched_.push_back(std::make_unique<WatchedBackend>(*backend, *start.tokenizers));
      backend = watched_.back().get();
    }
    upstreams.push_back(
        {.backend = backend,
         .concurrency = dispatch::ConcurrencyOptions{.fixed = choice.concurrency.value_or(0),
                                                     .limit_max = kInFlightMax},
         .quota = i});
  }
  waker_ = std::make_unique<dispatch::ThreadWaker>(clock_);
  dispatcher_ = std::make_unique<dispatch::Dispatcher>(std::move(upstreams),
                                                       dispatch_options(start), clock_, *waker_);
  open_ = true;
  return {};
}

dispatch::DispatchOptions UpstreamDispatch::dispatch_options(const Start& start) {
  dispatch::DispatchOptions options;
  options.attempts_max = options_.attempts_max;
  options.waiting_max = start.serving
                            ? options_.queue_max
                            : kWaitingPerUpstream * static_cast<int32_t>(servers_->size());
  options.backoff_base = std::chrono::seconds(1);
  if (start.serving) {
    options.reserve = queueing::kServerReserve;
    options.refusal_patience = options_.refusal_patience;
  }
  options.quotas.clear();
  for (size_t i = 0; i < servers_->size(); ++i) {
    const UpstreamChoice& choice = options_.choices[servers_->position(i)];
    options.quotas.push_back({.requests_per_minute = choice.requests_per_minute,
                              .tokens_per_minute = choice.tokens_per_minute});
  }
  options.packer.rows_max = options_.pack_rows_max;
  options.packer.window = options_.pack_window;
  options.on_batch = [this](const dispatch::SentBatch& call) {
    events_.packed_call_sent(http::origin(servers_->options_of(call.upstream.value()).base), call);
  };
  options.coalesce = options_.single_flight;
  options.cache = cache_.get();
  options.cache_scope = cache_scope(*servers_);
  options.calls_max = options_.requests_max;
  options.on_calls_max = [this] { events_.warn(options_.requests_max_warning); };
  options.cost_max = options_.spending.cost_max;
  options.cost_of = [this](const llm::Request& request, const llm::Usage& usage) {
    return options_.spending.of(request, usage);
  };
  options.on_budget_spent = start.on_budget_spent;
  return options;
}

std::vector<llm::UpstreamStatus> UpstreamDispatch::status() const {
  std::vector<llm::UpstreamStatus> list = servers_->status();
  const std::vector<dispatch::UpstreamReading> readings = dispatcher_->readings();
  for (size_t i = 0; i < list.size(); ++i) {
    llm::UpstreamStatus& status = list[i];
    const dispatch::UpstreamReading& reading = readings[i];
    status.healthy = status.healthy && reading.health == dispatch::Health::kGood;
    status.in_flight = reading.in_flight;
    status.in_flight_max = reading.in_flight_max;
    status.state = state_text(reading.health);
    status.finding = dispatch::to_string(reading.finding);
  }
  return list;
}

// --- a job ---

Result<void> UpstreamJobFleet::open(const JobStart& start) {
  return calls_.open({.serving = false,
                      .refusal = start.refusal,
                      .on_budget_spent = start.on_budget_spent,
                      .on_all_failed = start.on_all_failed,
                      .tokenizers = nullptr});
}

llm::BackendStats UpstreamJobFleet::stats() const {
  return calls_.is_open() ? calls_.servers().stats() : llm::BackendStats{};
}

std::vector<llm::UpstreamStatus> UpstreamJobFleet::upstreams() {
  if (!calls_.is_open()) return {};
  calls_.servers().poll_memory();
  const std::vector<dispatch::UpstreamReading> readings = calls_.dispatcher().readings();
  for (size_t i = 0; i < readings.size(); ++i) {
    if (readings[i].finding.kind == dispatch::ConcurrencyKind::kSerial)
      calls_.servers().note_serial(i);
  }
  return calls_.status();
}

std::vector<JobRoute> UpstreamJobFleet::routes() const {
  return {{.model = "upstream",
           .dispatcher = &calls_.dispatcher(),
           .raw = true,
           .listed = calls_.servers().models().names}};
}

JobHooks UpstreamJobFleet::hooks() {
  JobHooks hooks;
  hooks.upstreams_of = [this](const std::string& model) {
    return calls_.servers().servers_with(model);
  };
  hooks.expected_cost = [this](const llm::Request& request) {
    return calls_.options().spending.expected(request);
  };
  if (calls_.options().self_check)
    hooks.before_row = [this](const llm::Request& row) { plant_question(row); };
  return hooks;
}

Result<std::shared_ptr<const llm::Tokenizer>> UpstreamJobFleet::tokenizer(
    std::string_view model) const {
  return Error{ErrorKind::kNotFound,
               fmt::format("the model {} is on a server, which keeps its tokenizer", model)};
}

// A question is dispatched as a row is, so it obeys every limit.
void UpstreamJobFleet::plant_question(const llm::Request& row) {
  std::optional<llm::Request> question = calls_.servers().question_beside(row);
  if (!question) return;
  const auto cost = calls_.options().spending.expected(*question);
  if (!std::holds_alternative<dispatch::Cost>(cost)) return;
  const dispatch::WorkItem item{.tokens = upstream::kQuestionTokensMax,
                                .upstreams = calls_.servers().servers_with(question->model)};
  std::ignore =
      calls_.dispatcher().submit(*std::move(question), item, std::get<dispatch::Cost>(cost),
                                 [](const dispatch::DispatchResult&) {});
}

std::string UpstreamJobFleet::runtime() const {
  std::string text;
  for (size_t i = 0; i < calls_.servers().size(); ++i)
    text += (text.empty() ? "" : ", ") + http::origin(calls_.servers().options_of(i).base);
  return text;
}

// Questions may still be in flight when the last row has ended.
std::optional<Error> UpstreamJobFleet::final_error() {
  if (std::optional<Error> error = calls_.servers().all_failed()) return error;
  const upstream::MixUpWatch* const mix_ups = calls_.servers().mix_ups();
  if (mix_ups == nullptr) return std::nullopt;
  calls_.dispatcher().wait_idle();
  return mix_ups->verdict();
}

std::vector<std::string> UpstreamJobFleet::final_notes() const {
  std::vector<std::string> notes;
  if (calls_.cache() != nullptr) {
    if (const std::optional<Error> error = calls_.cache()->reading().error) {
      notes.push_back(fmt::format("--cache {}: answers are not kept any more: {}",
                                  calls_.options().cache, error->message));
    }
  }
  if (const upstream::MixUpWatch* const mix_ups = calls_.servers().mix_ups(); mix_ups != nullptr)
    notes.push_back(upstream::to_string(mix_ups->counts()));
  return notes;
}

// --- a server ---

Result<void> UpstreamServerFleet::open(const ServerStart&) {
  const bool has_tokenizers = !calls_.options().tokenizers.empty();
  const Result<void> opened = calls_.open({.serving = true,
                                           .refusal = {},
                                           .on_budget_spent = {},
                                           .on_all_failed = {},
                                           .tokenizers = has_tokenizers ? &watch_ : nullptr});
  return opened ? open_tokenizers() : opened;
}

// Loads them at once, so that a file that cannot be used is an error at the start.
Result<void> UpstreamServerFleet::open_tokenizers() {
  const std::vector<ModelChoice>& choices = calls_.options().tokenizers;
  if (!std::ranges::all_of(choices, is_simulated)) {
    Result<std::unique_ptr<engine::LlamaLibrary>> library =
        engine::LlamaLibrary::start(calls_.options().backends_folder);
    if (!library) return library.error().in("--tokenizer");
    library_ = *std::move(library);
  }
  for (const ModelChoice& choice : choices) {
    if (Result<void> known = check_name_of_tokenizer(choice); !known) return known;
    const auto tokenizer = lazy_tokenizer(library_.get(), choice, clock_);
    if (const auto loaded = tokenizer->get(); !loaded)
      return loaded.error().in(fmt::format("--tokenizer {}", choice.name));
    tokenizers_[choice.name] = tokenizer;
    watch_.add(choice.name, choice.path, tokenizer);
  }
  return {};
}

// A server that was not reached yet may have the model; one that takes names it does not list has
// it (models()).
Result<void> UpstreamServerFleet::check_name_of_tokenizer(const ModelChoice& choice) const {
  const upstream::UpstreamFleet::Models known = calls_.servers().models();
  if (known.any || std::ranges::find(known.names, choice.name) != known.names.end()) return {};
  const std::string text =
      fmt::format("--tokenizer {}={}: no server has a model of this name; the models are {}",
                  choice.name, choice.path, fmt::join(known.names, ", "));
  const std::vector<llm::UpstreamStatus> servers = calls_.servers().status();
  if (std::ranges::all_of(servers, &llm::UpstreamStatus::healthy))
    return Error{ErrorKind::kInvalid, text};
  events_.warn(text + " (not every server was reached)");
  return {};
}

std::vector<FleetModel> UpstreamServerFleet::models() const {
  const upstream::UpstreamFleet::Models known = calls_.servers().models();
  std::vector<FleetModel> list;
  const auto add = [&](const std::string& name, bool is_any) {
    list.push_back({.name = name,
                    .aliases = {},
                    .any = is_any,
                    .dispatcher = &calls_.dispatcher(),
                    .endpoints = llm::EndpointSet(
                        {llm::Endpoint::kChatCompletions, llm::Endpoint::kCompletions,
                         llm::Endpoint::kEmbeddings, llm::Endpoint::kRerank}),
                    .raw = true,
                    .upstreams = calls_.servers().servers_with(name),
                    .created_unix_s = clock_.unix_seconds(),
                    .fingerprint = {},
                    .owner = "upstream",
                    .residency = {},
                    .tokenizer = {}});
    if (const auto found = tokenizers_.find(name); found != tokenizers_.end())
      list.back().tokenizer = found->second;
  };
  for (const std::string& name : known.names)
    add(name, false);
  // A model with a tokenizer counts as listed where a server takes names that it does not list.
  for (const auto& [name, tokenizer] : tokenizers_) {
    const bool listed = std::ranges::find(known.names, name) != known.names.end();
    if (known.any && !listed && name != kAnyModel) add(name, false);
  }
  if (known.any) add(std::string(kAnyModel), true);
  return list;
}

bool UpstreamServerFleet::is_unreachable(uint64_t upstreams) const {
  return calls_.is_open() && calls_.servers().is_unreachable(upstreams);
}

std::vector<FleetReading> UpstreamServerFleet::readings() const {
  if (!calls_.is_open()) return {};
  return {{.name = "upstream",
           .stats = calls_.servers().stats(),
           .queue = calls_.dispatcher().queue(),
           .dispatch = calls_.dispatcher().counts(),
           .model = {},
           .upstreams = calls_.status()}};
}

}  // namespace windrow::fleet
