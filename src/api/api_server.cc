#include "api/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "api/admission.h"
#include "api/call.h"
#include "api/call_ids.h"
#include "api/call_workers.h"
#include "api/dialects/dialect.h"
#include "api/error_reply.h"
#include "api/front.h"
#include "api/lane_reads.h"
#include "api/live_requests.h"
#include "api/model_control.h"
#include "api/models_page.h"
#include "api/openapi.h"
#include "api/refusals.h"
#include "dispatch/request_item.h"
#include "llm/json_values.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

// How often calls are looked at for deadlines and quiet streams.
constexpr Duration kTick = std::chrono::milliseconds(250);

// Of /v1/windrow/requests.
constexpr size_t kShownMax = 1000;

// What clients who are told to stop get to read it.
constexpr Duration kLastWords = std::chrono::seconds(2);

// What is also answered without the /v1, which the base URLs of some clients lack.
constexpr auto kWithoutVersion = std::to_array<std::string_view>(
    {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/models",
     "/v1/models/{a}", "/v1/models/{a}/{b}", "/v1/models/{a}/{b}/{c}"});

// A path and its other name, where it has one.
std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> names{path};
  if (std::ranges::find(kWithoutVersion, path) != kWithoutVersion.end())
    names.push_back(path.substr(std::string_view("/v1").size()));
  return names;
}

// Names may have slashes in them.
std::string name_in_path(const http::ServerRequest& request) {
  std::string name;
  for (const std::string_view part : request.parts)
    name += (name.empty() ? "" : "/") + decode_part(part);
  return name;
}

// A way to ask a model.
struct CallRoute {
  llm::Endpoint endpoint = llm::Endpoint::kChatCompletions;
  Dialect dialect = Dialect::kOwn;
  bool may_be_tei = false;
  bool counts_only = false;
};

}  // namespace

// Only the loop's thread touches it, where nothing else is said.
class ApiServer::Core final : public CallHost {
 public:
  Core(http::Loop& loop, const Clock& clock, Catalogue& catalogue, ApiOptions options)
      : loop_(loop),
        clock_(clock),
        catalogue_(catalogue),
        options_(std::move(options)),
        rules_{.body_defaults = options_.body_defaults,
               .seed_default = options_.seed_default,
               .coalesce = options_.coalesce,
               .load_wait = options_.load_wait},
        metrics_(options_.metrics ? options_.metrics : std::make_shared<ServeMetrics>()),
        accounts_(options_.accounts ? options_.accounts
                                    : std::make_shared<KeyAccounts>(clock, options_.keys)),
        front_(clock, accounts_, *metrics_,
               {.cors = options_.cors,
                .open_metrics = options_.open_metrics,
                .log_prompts = options_.log_prompts,
                .id_seed = ids_.chance(),
                .log = options_.log}),
        workers_(options_.worker_threads),
        lane_reads_(workers_),
        storage_(
            front_, options_.storage,
            [this] {
              return state() == ServeState::kStopping ? std::optional(stopping()) : std::nullopt;
            },
            [this] { count_in(); }, [this] { count_out(); }),
        admission_(options_.bytes_inside_max),
        tick_(loop),
        description_(boost::json::serialize(openapi_document(
            options_.version, accounts_->keys() && accounts_->keys()->demands_keys()))) {}

  Result<void> open();

  // --- another thread ---

  uint16_t port() const { return server_->port(); }
  int64_t arriving() const {
    const std::scoped_lock lock(mutex_);
    return server_ ? static_cast<int64_t>(server_->arriving()) : 0;
  }
  const ServedRoutes& served() const { return served_; }
  void give_up();
  void stop(Duration grace);

  // --- for calls ---

  http::Loop& loop() override { return loop_; }
  CallWorkers& workers() override { return workers_; }
  LaneReads& lane_reads() override { return lane_reads_; }
  const Catalogue& catalogue() const override { return catalogue_; }
  const CallRules& rules() const override { return rules_; }
  ServeMetrics& metrics() override { return *metrics_; }
  LiveRequests& live() override { return live_; }
  bool grow(size_t bytes) override { return admission_.grow(bytes); }
  std::optional<llm::Failure> refusal_of(const ServedModel& model) const override;
  void over(Call& call) override;

 private:
  http::Routes<http::Handler> routes();
  void take(const CallRoute& route, const http::ServerRequest& request, http::Exchange exchange);
  void add_orders(http::Routes<http::Handler>& routes);
  void add_preflight(std::string_view path, std::string methods,
                     http::Routes<http::Handler>& routes);
  template <class Make>
  void show(const http::ServerRequest& request, Access access, http::Exchange exchange,
            const Make& make);
  void answer(Admitted admitted, http::ServerReply reply, std::string code,
              http::Exchange exchange);
  void count_in();
  void count_out();
  ServeState state() const;
  std::optional<llm::Failure> refusal() const;
  http::ServerReply ready_reply(std::string_view query) const;
  http::ServerReply models_reply() const;
  http::ServerReply model_reply(const std::string& name) const;
  http::ServerReply order_reply(const std::string& name, ModelOrder order, bool is_admin) const;
  std::vector<KeyReading> keys_shown_to(const Admitted& admitted) const;
  http::ServerReply metrics_reply(const Admitted& admitted) const;
  http::ServerReply requests_reply(const Admitted& admitted) const;
  void tick();
  void give_up_all(const llm::Failure& why);
  void give_up_unreachable();

  http::Loop& loop_;
  const Clock& clock_;
  Catalogue& catalogue_;
  const ApiOptions options_;
  const CallRules rules_;
  CallIds ids_;
  const std::shared_ptr<ServeMetrics> metrics_;
  const std::shared_ptr<KeyAccounts> accounts_;
  Front front_;
  LiveRequests live_;
  CallWorkers workers_;
  LaneReads lane_reads_;
  StorageCalls storage_;
  Admission admission_;
  http::Timer tick_;
  std::optional<TimePoint> give_up_at_;
  bool unreachable_ = false;
  std::list<std::shared_ptr<Call>> calls_;
  std::unique_ptr<http::Server> server_;
  const std::string description_;  // /openapi.json
  ServedRoutes served_;

  mutable std::mutex mutex_;  // and of server_, for others than the loop
  std::condition_variable ended_;
  size_t calls_inside_ = 0;
  bool stopped_ = false;
};

Result<void> ApiServer::Core::open() {
  http::ServerOptions options = options_.http;
  options.make_error = [this](const http::Refusal& refusal) { return front_.refuse(refusal); };
  options.at_head = [this](const http::ServerRequest& head) { return front_.refuse_at_head(head); };
  Result<void> opened;
  // All on the loop's thread: a request may come at once.
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
    tick();
  });
  return opened;
}

http::Routes<http::Handler> ApiServer::Core::routes() {
  http::Routes<http::Handler> routes;
  const auto call = [&](std::string_view path, CallRoute route) {
    for (const std::string_view name : names_of(path)) {
      routes.add("POST", name, [=, this](const http::ServerRequest& request, http::Exchange to) {
        take(route, request, std::move(to));
      });
      add_preflight(name, "POST", routes);
    }
    served_.emplace_back("POST", path);
  };
  for (const llm::Endpoint endpoint : llm::endpoints()) {
    call(llm::url_of(endpoint), {.endpoint = endpoint});
    for (const Dialect dialect : dialects_of(endpoint))
      call(url_of(endpoint, dialect), {.endpoint = endpoint, .dialect = dialect});
  }
  call(kCountTokensPath, {.dialect = Dialect::kMessages, .counts_only = true});
  call("/v2/rerank", {.endpoint = llm::Endpoint::kRerank});
  call("/rerank", {.endpoint = llm::Endpoint::kRerank, .may_be_tei = true});

  const auto shows = [&](std::string_view method, std::string_view path, Access access, auto make) {
    routes.add(method, path, [=, this](const http::ServerRequest& request, http::Exchange to) {
      show(request, access, std::move(to), make);
    });
  };
  const auto page = [&](std::string_view path, Access access, auto make) {
    for (const std::string_view name : names_of(path)) {
      shows("GET", name, access, make);
      add_preflight(name, "GET, HEAD", routes);
    }
    served_.emplace_back("GET", path);
  };
  using Request = http::ServerRequest;
  page("/health", Access::kOpen, [](const Request&, const Admitted&) {
    return http::ServerReply{.body = R"({"status":"ok"})"};
  });
  page("/ready", Access::kOpen,
       [this](const Request& request, const Admitted&) { return ready_reply(request.query); });
  page("/v1/models", Access::kKey,
       [this](const Request&, const Admitted&) { return models_reply(); });
  // Names may have slashes in them.
  for (const std::string_view path :
       {"/v1/models/{a}", "/v1/models/{a}/{b}", "/v1/models/{a}/{b}/{c}"}) {
    page(path, Access::kKey, [this](const Request& request, const Admitted&) {
      return model_reply(name_in_path(request));
    });
  }
  add_orders(routes);
  constexpr std::string_view kResponse = "/v1/responses/{id}";
  for (const std::string_view method : {"GET", "DELETE"}) {
    shows(method, kResponse, Access::kKey,
          [](const Request&, const Admitted&) { return error_reply(nothing_stored()); });
    served_.emplace_back(method, kResponse);
  }
  add_preflight(kResponse, "GET, HEAD, DELETE", routes);
  page("/metrics", Access::kMetrics,
       [this](const Request&, const Admitted& admitted) { return metrics_reply(admitted); });
  page("/v1/windrow/requests", Access::kKey,
       [this](const Request&, const Admitted& admitted) { return requests_reply(admitted); });
  storage_.add_routes([&](std::string_view method, std::string_view path, http::Handler handler) {
    routes.add(method, path, std::move(handler));
    served_.emplace_back(method, path);
  });
  add_preflight("/v1/files", "GET, HEAD, POST", routes);
  add_preflight("/v1/files/{id}", "GET, HEAD, DELETE", routes);
  add_preflight("/v1/files/{id}/content", "GET, HEAD", routes);
  add_preflight("/v1/batches", "GET, HEAD, POST", routes);
  add_preflight("/v1/batches/{id}", "GET, HEAD", routes);
  add_preflight("/v1/batches/{id}/cancel", "POST", routes);
  page("/openapi.json", Access::kKey,
       [this](const Request&, const Admitted&) { return http::ServerReply{.body = description_}; });
  return routes;
}

void ApiServer::Core::add_orders(http::Routes<http::Handler>& routes) {
  for (const std::string_view name : {"{a}", "{a}/{b}", "{a}/{b}/{c}"}) {
    for (const ModelOrder order : {ModelOrder::kLoad, ModelOrder::kUnload}) {
      const std::string path = fmt::format("/v1/windrow/models/{}/{}", name,
                                           order == ModelOrder::kLoad ? "load" : "unload");
      routes.add("POST", path, [=, this](const http::ServerRequest& request, http::Exchange to) {
        show(request, Access::kKey, std::move(to),
             [&](const http::ServerRequest& asked, const Admitted& admitted) {
               return order_reply(name_in_path(asked), order, admitted.sees_all());
             });
      });
      served_.emplace_back("POST", path);
      add_preflight(path, "POST", routes);
    }
  }
}

void ApiServer::Core::add_preflight(std::string_view path, std::string methods,
                                    http::Routes<http::Handler>& routes) {
  routes.add("OPTIONS", path,
             [this, methods = std::move(methods)](const http::ServerRequest& request,
                                                  http::Exchange exchange) {
               exchange.send(front_.preflight(request, methods));
             });
}

template <class Make>
void ApiServer::Core::show(const http::ServerRequest& request, Access access,
                           http::Exchange exchange, const Make& make) {
  auto admitted = front_.admit(request, access);
  if (auto* reply = std::get_if<http::ServerReply>(&admitted)) {
    return exchange.send(std::move(*reply));
  }
  auto& known = std::get<Admitted>(admitted);
  known.take_id(request.headers);
  http::ServerReply reply = make(request, std::as_const(known));
  answer(std::move(known), std::move(reply), "", std::move(exchange));
}

void ApiServer::Core::answer(Admitted admitted, http::ServerReply reply, std::string code,
                             http::Exchange exchange) {
  admitted.record().status = reply.status;
  admitted.record().code = std::move(code);
  admitted.add_headers(reply.headers);
  exchange.send(std::move(reply));
}

ServeState ApiServer::Core::state() const {
  return give_up_at_ ? ServeState::kStopping : catalogue_.state();
}

// Why no call is taken.
std::optional<llm::Failure> ApiServer::Core::refusal() const {
  if (state() == ServeState::kReady)
    return unreachable_ ? std::optional(unreachable()) : std::nullopt;
  return state() == ServeState::kLoading ? loading() : stopping();
}

std::optional<llm::Failure> ApiServer::Core::refusal_of(const ServedModel& model) const {
  if (!options_.nobody_answers || !options_.nobody_answers(model.upstreams)) return std::nullopt;
  return unreachable(model.name);
}

http::ServerReply ApiServer::Core::ready_reply(std::string_view query) const {
  if (const auto failure = refusal()) return error_reply(*failure);
  constexpr std::string_view kModel = "model=";
  if (query.starts_with(kModel)) {
    const std::string name = decode_part(query.substr(kModel.size()));
    const ServedModel* model = catalogue_.find(name);
    if (model == nullptr) return error_reply(no_model(name));
    if (const auto failure = refusal_of(*model)) return error_reply(*failure);
    if (model->residence) {
      if (const ResidenceReading reading = model->residence->read(); !reading.load_error.empty())
        return error_reply(load_failed(name, reading.load_error));
    }
    return {.body = R"({"status":"ready"})"};
  }
  boost::json::array away;
  for (const ServedModel& model : catalogue_.list()) {
    if (refusal_of(model)) away.emplace_back(model.name);
  }
  boost::json::object body{{"status", "ready"}};
  if (!away.empty()) body["unreachable"] = std::move(away);
  return {.body = boost::json::serialize(body)};
}

http::ServerReply ApiServer::Core::models_reply() const {
  if (catalogue_.state() == ServeState::kLoading) return error_reply(loading());
  return {.body = models_page(catalogue_.list())};
}

http::ServerReply ApiServer::Core::model_reply(const std::string& name) const {
  if (catalogue_.state() == ServeState::kLoading) return error_reply(loading());
  if (auto page = model_page(catalogue_.list(), name)) return {.body = *std::move(page)};
  return error_reply(no_model(name));
}

http::ServerReply ApiServer::Core::order_reply(const std::string& name, ModelOrder order,
                                               bool is_admin) const {
  if (const ServeState now = state(); now != ServeState::kReady)
    return error_reply(now == ServeState::kLoading ? loading() : stopping());
  const auto ordered = give_order(catalogue_, name, order, is_admin);
  if (const auto* failure = std::get_if<llm::Failure>(&ordered)) return error_reply(*failure);
  return {.body = model_page(std::get<ServedModel>(ordered))};
}

// What a key has used is its own affair and the admins'.
std::vector<KeyReading> ApiServer::Core::keys_shown_to(const Admitted& admitted) const {
  std::vector<KeyReading> keys = accounts_->read();
  if (!admitted.sees_all() && !options_.open_metrics) {
    std::erase_if(keys, [&](const KeyReading& key) { return key.name != admitted.record().key; });
  }
  std::map<uint64_t, KeyReading*> by_owner;
  for (KeyReading& key : keys)
    by_owner[dispatch::owner_id(key.name)] = &key;
  std::set<const dispatch::Dispatcher*> seen;
  for (const ServedModel& model : catalogue_.list()) {
    if (by_owner.empty() || !seen.insert(model.dispatcher).second) continue;
    for (const dispatch::OwnerReading& owner : model.dispatcher->owners()) {
      const auto found = by_owner.find(owner.owner);
      if (found == by_owner.end()) continue;
      found->second->waiting += owner.waiting;
      found->second->running += owner.out;
    }
  }
  return keys;
}

http::ServerReply ApiServer::Core::metrics_reply(const Admitted& admitted) const {
  PageReadings readings{.version = options_.version,
                        .state = state(),
                        .connections = static_cast<int64_t>(server_->connections()),
                        .requests_arriving = static_cast<int64_t>(server_->arriving()),
                        .calls_live = live_.count(),
                        .keys = keys_shown_to(admitted),
                        .bytes_inside = static_cast<int64_t>(admission_.bytes()),
                        .bytes_inside_max = static_cast<int64_t>(admission_.bytes_max())};
  if (options_.read_models) readings.models = options_.read_models();
  if (options_.read_storage) readings.storage = options_.read_storage();
  return {.content_type = kMetricsContentType, .body = metrics_page(metrics_->read(), readings)};
}

http::ServerReply ApiServer::Core::requests_reply(const Admitted& admitted) const {
  std::optional<std::string_view> of_key;
  if (!admitted.sees_all()) of_key = admitted.record().key;
  return {.body = boost::json::serialize(live_.to_json(clock_.now(), kShownMax, of_key))};
}

void ApiServer::Core::take(const CallRoute& route, const http::ServerRequest& request,
                           http::Exchange exchange) {
  auto entered = front_.admit(request, Access::kCall);
  if (auto* reply = std::get_if<http::ServerReply>(&entered)) {
    return exchange.send(std::move(*reply));
  }
  auto& admitted = std::get<Admitted>(entered);
  admitted.take_id(request.headers);
  const auto refuse = [&](const llm::Failure& failure) {
    http::ServerReply reply = error_reply(failure, route.dialect, admitted.record().id);
    answer(std::move(admitted), std::move(reply), failure.code, std::move(exchange));
  };
  if (const auto failure = refusal()) return refuse(*failure);
  if (!admission_.take(request.body.size())) return refuse(no_room_for_body());

  std::string id = ids_.next();
  RequestRecord& record = admitted.record();
  record.endpoint = route.endpoint;
  record.dialect = route.dialect;
  record.call = fmt::format("{}{}", id_prefix(route.endpoint, route.dialect), id);
  CallInput input{.endpoint = route.endpoint,
                  .dialect = route.dialect,
                  .body = std::move(request.body),
                  .headers = envelope_headers(request.headers),
                  .key = record.key,
                  .urgency_max = admitted.urgency_max(),
                  .weight = admitted.weight(),
                  .arrived_at = record.arrived_at,
                  .chance = ids_.chance(),
                  .call_id = record.call,
                  .may_be_tei = route.may_be_tei,
                  .counts_only = route.counts_only};
  const auto call = std::make_shared<Call>(*this, CallBirth{.exchange = std::move(exchange),
                                                            .admitted = std::move(admitted),

                                                            .input = std::move(input),
                                                            .id = std::move(id)});
  calls_.push_front(call);
  call->place = calls_.begin();
  count_in();
  call->begin();
}

void ApiServer::Core::over(Call& call) {
  admission_.release(call.bytes());
  calls_.erase(call.place);
  count_out();
}

void ApiServer::Core::count_in() {
  const std::scoped_lock lock(mutex_);
  ++calls_inside_;
}

// Any thread.
void ApiServer::Core::count_out() {
  const std::scoped_lock lock(mutex_);
  --calls_inside_;
  ended_.notify_all();
}

void ApiServer::Core::tick() {
  const TimePoint now = clock_.now();
  if (give_up_at_ && now >= *give_up_at_) give_up_all(stopping());
  unreachable_ =
      state() == ServeState::kReady && options_.nobody_answers && options_.nobody_answers(0);
  give_up_unreachable();
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->tick(now);
  tick_.wake_at(now + kTick, [this] { tick(); });
}

void ApiServer::Core::give_up_all(const llm::Failure& why) {
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->give_up(why);
}

// Who is being answered is left alone: a server that stops gently closes its port and goes on.
void ApiServer::Core::give_up_unreachable() {
  if (!options_.nobody_answers || state() != ServeState::kReady) return;
  std::map<uint64_t, bool> away;  // by ServedModel::upstreams
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) {
    const ServedModel* model = call->offered();
    if (model == nullptr) continue;
    const auto [found, fresh] = away.try_emplace(model->upstreams);
    if (fresh) found->second = options_.nobody_answers(model->upstreams);
    if (found->second && call->is_waiting()) call->give_up(unreachable(model->name));
  }
}

void ApiServer::Core::give_up() {
  loop_.run([&] {
    give_up_at_ = clock_.now();
    give_up_all(stopping());
  });
}

// Calls that are given up are answered, and http's own grace is only for those who do not read.
void ApiServer::Core::stop(Duration grace) {
  if (std::exchange(stopped_, true)) return;
  loop_.run([&] {
    give_up_at_ = clock_.now() + grace;
    if (grace <= Duration{}) give_up_all(stopping());
  });
  server_->stop(grace + kLastWords);
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return calls_inside_ == 0; });
  }
  std::unique_ptr<http::Server> server;
  {
    const std::scoped_lock lock(mutex_);
    server = std::move(server_);
  }
  server.reset();
  workers_.stop();
  storage_.stop();
}

Result<std::unique_ptr<ApiServer>> ApiServer::open(http::Loop& loop, const Clock& clock,
                                                   Catalogue& catalogue, ApiOptions options) {
  auto core = std::make_unique<Core>(loop, clock, catalogue, std::move(options));
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

void ApiServer::give_up() {
  core_->give_up();
}

void ApiServer::stop(Duration grace) {
  core_->stop(grace);
}

}  // namespace windrow::api
