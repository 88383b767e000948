#include "api/api_server.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/calls/active_calls.h"
#include "api/calls/admission.h"
#include "api/calls/live_requests.h"
#include "api/keys/request_guard.h"
#include "api/pages/models_page.h"
#include "api/pages/pages.h"
#include "api/pages/request_log.h"
#include "api/pages/tokenizer_pages.h"
#include "api/storage/response_store.h"
#include "api/wire/dialect.h"
#include "api/wire/refusals.h"
#include "async/in_flight_counter.h"
#include "llm/answer_room.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

// How long clients may take to read the last answers of a server that stops.
constexpr Duration kLastWords = std::chrono::seconds(2);

// Patterns for the names of models, which may contain slashes.
constexpr std::string_view kNames[] = {"{a}", "{a}/{b}", "{a}/{b}/{c}"};

}  // namespace

// On the loop's thread, except where stated.
class ApiServer::Core {
 public:
  Core(http::Loop& loop, const Clock& clock, ModelRegistry& registry, ApiOptions options);

  Result<void> open();

  // --- another thread ---

  http::Loop& loop() { return loop_; }
  uint16_t port() const { return server_->port(); }
  int64_t arriving() const;
  const ServedRoutes& served() const { return served_; }
  Result<void> reload_tls();
  void give_up();
  void stop(Duration grace);

 private:
  using Page = http::ServerReply (Pages::*)(const http::ServerRequest&,
                                            const RequestContext&) const;

  std::vector<std::unique_ptr<ServerPart>> make_parts();
  http::Routes<http::Handler> routes();
  void add_calls(RouteTable& table);
  void add_pages(RouteTable& table);
  std::optional<RequestContext> admit(const http::ServerRequest& request, Access access,
                                      http::Exchange& exchange);
  void take(const CallRoute& route, const http::ServerRequest& request, http::Exchange exchange);
  void show(Page page, Access access, const http::ServerRequest& request, http::Exchange exchange);
  void show_input(const http::ServerRequest& request, http::Exchange exchange);
  void show_tokens(TokenizerPage page, const http::ServerRequest& request, http::Exchange exchange);

  http::Loop& loop_;
  const ModelRegistry& registry_;
  const ApiOptions options_;
  const std::shared_ptr<ServeMetrics> metrics_;
  const std::shared_ptr<KeyAccounts> accounts_;
  RequestGuard front_;
  LiveRequests live_;
  BodyMemoryBudget admission_;
  const std::shared_ptr<llm::AnswerRoom> answer_room_;
  CallGate gate_;
  ResponseStore responses_;
  async::InFlightCounter inside_;
  ActiveCalls calls_;
  const std::vector<std::unique_ptr<ServerPart>> parts_;
  Pages pages_;
  const Clock& clock_;
  ServedRoutes served_;
  bool stopped_ = false;

  mutable std::mutex mutex_;  // guards server_ against other threads than the loop's
  std::unique_ptr<http::Server> server_;
};

ApiServer::Core::Core(http::Loop& loop, const Clock& clock, ModelRegistry& registry,
                      ApiOptions options)
    : loop_(loop),
      registry_(registry),
      options_(std::move(options)),
      metrics_(options_.metrics ? options_.metrics : std::make_shared<ServeMetrics>()),
      accounts_(options_.accounts ? options_.accounts
                                  : std::make_shared<KeyAccounts>(clock, options_.keys)),
      front_(clock, accounts_, *metrics_,
             {.cors = options_.cors,
              .open_metrics = options_.open_metrics,
              .log_prompts = options_.log_prompts,
              .id_seed = CallIds().chance(),
              .log = options_.log}),
      admission_(options_.bytes_inside_max),
      answer_room_(std::make_shared<llm::AnswerRoom>(options_.answer_bytes_max)),
      gate_(registry, options_.are_unreachable),
      responses_(options_.kept_bytes_max),
      calls_({.loop = loop,
              .clock = clock,
              .models = registry,
              .metrics = *metrics_,
              .live = live_,
              .body_memory = admission_,
              .gate = gate_,
              .responses = responses_,
              .in_flight = inside_,
              .answer_room = answer_room_},
             {.body = {.defaults = options_.body_defaults,
                       .seed = options_.seed_default,
                       .unknown_fields = options_.unknown_fields},
              .coalesce = options_.coalesce,
              .load_wait = options_.load_wait,
              .body_bytes_max = options_.http.request.body_bytes_max},
             options_.worker_threads),
      parts_(make_parts()),
      pages_({.clock = clock,
              .registry = registry,
              .gate = gate_,
              .accounts = *accounts_,
              .metrics = *metrics_,
              .live = live_,
              .admission = admission_,
              .answer_room = *answer_room_,
              .responses = responses_,
              .port =
                  [this] {
                    return PortReading{
                        .connections = static_cast<int64_t>(server_->connections()),
                        .arriving = static_cast<int64_t>(server_->arriving()),
                        .unsent_bytes = static_cast<int64_t>(server_->unsent_bytes()),
                        .slow_readers_dropped = server_->slow_readers_dropped()};
                  },
              .models = options_.read_models,
              .parts = parts_},
             {.version = options_.version, .open_metrics = options_.open_metrics}),
      clock_(clock) {}

std::vector<std::unique_ptr<ServerPart>> ApiServer::Core::make_parts() {
  const PartHost host{.guard = front_, .in_flight = inside_, .refusal = [this] {
                        return gate_.state() == ServeState::kStopping ? std::optional(stopping())
                                                                      : std::nullopt;
                      }};
  std::vector<std::unique_ptr<ServerPart>> parts;
  for (const PartFactory& make : options_.parts)
    parts.push_back(make(host));
  return parts;
}

Result<void> ApiServer::Core::open() {
  http::ServerOptions options = options_.http;
  options.make_error = [this](const http::Refusal& refusal) { return front_.refuse(refusal); };
  options.on_slow_reader = [this](const http::SlowReader& reader) {
    if (options_.log)
      options_.log(
          slow_reader_line(clock_.unix_seconds(), reader.peer, reader.unsent_bytes, reader.quiet));
  };
  options.at_head = [this](const http::ServerRequest& head) -> std::optional<http::ServerReply> {
    for (const std::unique_ptr<ServerPart>& part : parts_) {
      if (auto judged = part->judge_head(head)) return std::move(judged->refusal);
    }
    return front_.refuse_at_head(head);
  };
  Result<void> opened;
  // On the loop's thread, because requests may arrive at once.
  loop_.run([&] {
    Result<std::unique_ptr<http::Server>> server =
        http::Server::open(loop_, std::move(options), routes());
    if (!server) {
      opened = server.error();
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      server_ = *std::move(server);
    }
    calls_.watch();
  });
  return opened;
}

// --- routes -------------------------------------------------------------------------------------

http::Routes<http::Handler> ApiServer::Core::routes() {
  RouteTable table;
  add_calls(table);
  add_pages(table);
  for (const std::unique_ptr<ServerPart>& part : parts_)
    part->add_routes([&](std::string_view method, std::string_view path,
                         const http::Handler& handler) { table.add(method, path, handler); });
  served_ = table.served();
  return std::move(table).finish(front_);
}

void ApiServer::Core::add_calls(RouteTable& table) {
  const auto call = [&](std::string_view path, CallRoute route) {
    const auto taken = [=, this](const http::ServerRequest& request, http::Exchange to) {
      take(route, request, std::move(to));
    };
    table.add("POST", path, http::Handler(taken).taking_gzip());
  };
  for (const llm::Endpoint endpoint : llm::endpoints()) {
    call(llm::url_of(endpoint), {.endpoint = endpoint});
    for (const Dialect dialect : dialects_of(endpoint))
      call(url_of(endpoint, dialect), {.endpoint = endpoint, .dialect = dialect});
  }
  call(kCountTokensPath, {.dialect = Dialect::kMessages, .counts_only = true});
  call("/v2/rerank", {.endpoint = llm::Endpoint::kRerank, .unit_scores = true});
  call("/rerank", {.endpoint = llm::Endpoint::kRerank, .may_be_tei = true});
  for (const auto& [path, page] : tokenizer_pages()) {
    const auto shown = [page, this](const http::ServerRequest& request, http::Exchange to) {
      show_tokens(page, request, std::move(to));
    };
    table.add("POST", path, http::Handler(shown).taking_gzip());
  }
}

void ApiServer::Core::add_pages(RouteTable& table) {
  const auto page = [&](std::string_view method, std::string_view path, Access access, Page shown) {
    table.add(method, path, [=, this](const http::ServerRequest& request, http::Exchange to) {
      show(shown, access, request, std::move(to));
    });
  };
  page("GET", "/health", Access::kOpen, &Pages::health);
  page("GET", "/ready", Access::kOpen, &Pages::ready);
  page("GET", "/v1/models", Access::kKey, &Pages::models);
  for (const std::string_view name : kNames) {
    page("GET", fmt::format("/v1/models/{}", name), Access::kKey, &Pages::model);
    const std::string ordered = fmt::format("/v1/windrow/models/{}", name);
    page("POST", ordered + "/load", Access::kKey, &Pages::load);
    page("POST", ordered + "/unload", Access::kKey, &Pages::unload);
  }
  page("POST", "/v1/responses/compact", Access::kKey, &Pages::compacted_response);
  page("GET", "/v1/responses/{id}", Access::kKey, &Pages::response);
  page("DELETE", "/v1/responses/{id}", Access::kKey, &Pages::delete_response);
  table.add("GET", "/v1/responses/{id}/input_items",
            [this](const http::ServerRequest& request, http::Exchange to) {
              show_input(request, std::move(to));
            });
  page("GET", "/api/tags", Access::kKey, &Pages::ollama_tags);
  page("GET", "/api/ps", Access::kKey, &Pages::ollama_ps);
  page("POST", "/api/show", Access::kKey, &Pages::ollama_show);
  page("GET", "/api/version", Access::kKey, &Pages::ollama_version);
  page("GET", "/metrics", Access::kMetrics, &Pages::metrics);
  page("GET", "/v1/windrow/requests", Access::kKey, &Pages::requests);
  page("GET", "/openapi.json", Access::kKey, &Pages::openapi);
}

// Nullopt: the request has been answered.
std::optional<RequestContext> ApiServer::Core::admit(const http::ServerRequest& request,
                                                     Access access, http::Exchange& exchange) {
  auto entered = front_.admit(request, access);
  if (auto* reply = std::get_if<http::ServerReply>(&entered)) {
    exchange.send(std::move(*reply));
    return std::nullopt;
  }
  auto& admitted = std::get<RequestContext>(entered);
  admitted.take_id(request.headers);
  return std::move(admitted);
}

void ApiServer::Core::take(const CallRoute& route, const http::ServerRequest& request,
                           http::Exchange exchange) {
  std::optional<RequestContext> admitted = admit(request, Access::kCall, exchange);
  if (admitted) calls_.take(route, *std::move(admitted), request, std::move(exchange));
}

void ApiServer::Core::show(Page page, Access access, const http::ServerRequest& request,
                           http::Exchange exchange) {
  std::optional<RequestContext> admitted = admit(request, access, exchange);
  if (!admitted) return;
  http::ServerReply reply = (pages_.*page)(request, *admitted);
  send_reply(*std::move(admitted), std::move(reply), "", std::move(exchange));
}

// On a worker: the items of a conversation may be megabytes, which are parsed.
void ApiServer::Core::show_input(const http::ServerRequest& request, http::Exchange exchange) {
  std::optional<RequestContext> admitted = admit(request, Access::kKey, exchange);
  if (!admitted) return;
  auto list = [this, key = admitted->record().key, id = decode_part(request.parts.front()),
               query = std::string(request.query)] {
    return show_input_items(responses_, key, id, query);
  };
  calls_.show_later(*std::move(admitted), std::move(exchange), std::move(list));
}

// On a worker: texts are long, and the first use of a tokenizer reads its file. No request to a
// model, so it does not wait for its turn among those.
void ApiServer::Core::show_tokens(TokenizerPage page, const http::ServerRequest& request,
                                  http::Exchange exchange) {
  std::optional<RequestContext> admitted = admit(request, Access::kCall, exchange);
  if (!admitted) return;
  calls_.show_of_body(*std::move(admitted), request, std::move(exchange),
                      [this, page](std::string_view body) {
                        return page(registry_, options_.unknown_fields, body);
                      });
}

// --- the end ------------------------------------------------------------------------------------

int64_t ApiServer::Core::arriving() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? static_cast<int64_t>(server_->arriving()) : 0;
}

// The loop never waits for the mutex.
Result<void> ApiServer::Core::reload_tls() {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->reload_tls() : Result<void>();
}

void ApiServer::Core::give_up() {
  loop_.run([&] {
    gate_.close(clock_.now());
    calls_.give_up_all(stopping());
  });
}

// Calls that are given up are answered; the HTTP server's own grace is for clients that read
// slowly.
void ApiServer::Core::stop(Duration grace) {
  if (std::exchange(stopped_, true)) return;
  loop_.run([&] {
    gate_.close(clock_.now() + grace);
    if (grace <= Duration{}) calls_.give_up_all(stopping());
  });
  server_->stop(grace + kLastWords);
  inside_.wait_for_none();
  std::unique_ptr<http::Server> server;
  {
    const std::scoped_lock lock(mutex_);
    server = std::move(server_);
  }
  server.reset();
  calls_.stop_workers();
  for (const std::unique_ptr<ServerPart>& part : parts_)
    part->stop();
}

Result<std::unique_ptr<ApiServer>> ApiServer::open(http::Loop& loop, const Clock& clock,
                                                   ModelRegistry& registry, ApiOptions options) {
  auto core = std::make_unique<Core>(loop, clock, registry, std::move(options));
  if (const Result<void> opened = core->open(); !opened) {
    loop.run([&] { core.reset(); });
    return opened.error();
  }
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(core)));
}

ApiServer::ApiServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}

ApiServer::~ApiServer() {
  core_->stop(Duration{});
  http::Loop& loop = core_->loop();
  loop.run([&] { core_.reset(); });
}

int64_t ApiServer::arriving() const {
  return core_->arriving();
}

uint16_t ApiServer::port() const {
  return core_->port();
}

const ServedRoutes& ApiServer::routes() const {
  return core_->served();
}

Result<void> ApiServer::reload_tls() {
  return core_->reload_tls();
}

void ApiServer::give_up() {
  core_->give_up();
}

void ApiServer::stop(Duration grace) {
  core_->stop(grace);
}

}  // namespace windrow::api
