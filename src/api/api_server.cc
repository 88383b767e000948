#include "api/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include "api/admission.h"
#include "api/call.h"
#include "api/call_ids.h"
#include "api/call_workers.h"
#include "api/error_reply.h"
#include "api/models_page.h"
#include "llm/json_values.h"
#include "llm/request_json.h"

namespace windrow::api {
namespace {

// How often calls are looked at for deadlines and quiet streams.
constexpr Duration kTick = std::chrono::milliseconds(250);

// What clients who are told to stop get to read it.
constexpr Duration kLastWords = std::chrono::seconds(2);

llm::Failure unavailable(std::string code, std::string message, int64_t retry_after_ms) {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 503,
          .code = std::move(code),
          .message = std::move(message),
          .overloaded = true,
          .retry_after_ms = retry_after_ms};
}

llm::Failure loading() {
  return unavailable("server_loading", "the models are being loaded; try again in a while", 5000);
}

llm::Failure stopping() {
  return unavailable("server_stopping", "the server is being stopped; try again later", 5000);
}

llm::Failure full() {
  return {.failure_class = llm::FailureClass::kTransient,
          .status = 429,
          .code = "server_overloaded",
          .message =
              "the bodies that are being worked on take all the memory there is for them; "
              "try again later",
          .overloaded = true,
          .retry_after_ms = 1000};
}

// The headers a call wants to know of.
http::Headers headers_of_call(const http::Headers& all) {
  constexpr std::string_view kPrefix = "x-windrow-";
  http::Headers wanted;
  for (const http::Headers::Field field : all) {
    if (field.name.size() > kPrefix.size() &&
        http::same_ignoring_case(field.name.substr(0, kPrefix.size()), kPrefix)) {
      wanted.add(field.name, field.value);
    }
  }
  return wanted;
}

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
               .coalesce = options_.coalesce},
        workers_(options_.worker_threads),
        admission_(options_.bytes_inside_max),
        tick_(loop) {}

  Result<void> open();

  // --- another thread ---

  uint16_t port() const { return server_->port(); }
  void stop(Duration grace);

  // --- for calls ---

  http::Loop& loop() override { return loop_; }
  CallWorkers& workers() override { return workers_; }
  const Catalogue& catalogue() const override { return catalogue_; }
  const CallRules& rules() const override { return rules_; }
  void over(Call& call) override;

 private:
  http::Routes<http::Handler> routes();
  void take(llm::Endpoint endpoint, bool may_be_tei, const http::ServerRequest& request,
            http::Exchange exchange);
  std::optional<llm::Failure> refusal() const;
  http::ServerReply ready_reply() const;
  http::ServerReply models_reply() const;
  http::ServerReply model_reply(const std::string& name) const;
  void tick();
  void give_up_all();

  http::Loop& loop_;
  const Clock& clock_;
  Catalogue& catalogue_;
  const ApiOptions options_;
  const CallRules rules_;
  CallIds ids_;
  CallWorkers workers_;
  Admission admission_;
  http::Timer tick_;
  std::optional<TimePoint> give_up_at_;
  std::list<std::shared_ptr<Call>> calls_;
  std::unique_ptr<http::Server> server_;

  std::mutex mutex_;
  std::condition_variable ended_;
  size_t calls_inside_ = 0;
  bool stopped_ = false;
};

Result<void> ApiServer::Core::open() {
  http::ServerOptions options = options_.http;
  options.make_error = [](int status, std::string_view message) {
    return error_reply(status, message);
  };
  Result<std::unique_ptr<http::Server>> server =
      http::Server::open(loop_, std::move(options), routes());
  if (!server) return server.error();
  server_ = *std::move(server);
  loop_.run([&] { tick(); });
  return {};
}

http::Routes<http::Handler> ApiServer::Core::routes() {
  using Request = http::ServerRequest;
  using Exchange = http::Exchange;
  http::Routes<http::Handler> routes;
  const auto call = [&](std::string_view path, llm::Endpoint endpoint, bool may_be_tei = false) {
    routes.add("POST", path, [=, this](const Request& request, Exchange exchange) {
      take(endpoint, may_be_tei, request, std::move(exchange));
    });
  };
  for (const llm::Endpoint endpoint : llm::endpoints())
    call(llm::url_of(endpoint), endpoint);
  call("/v2/rerank", llm::Endpoint::kRerank);
  call("/rerank", llm::Endpoint::kRerank, true);

  const auto page = [&](std::string_view path, auto make) {
    routes.add("GET", path,
               [make](const Request& request, Exchange exchange) { exchange.send(make(request)); });
  };
  page("/health", [](const Request&) { return http::ServerReply{.body = R"({"status":"ok"})"}; });
  page("/ready", [this](const Request&) { return ready_reply(); });
  page("/v1/models", [this](const Request&) { return models_reply(); });
  // Names may have slashes in them.
  for (const std::string_view path :
       {"/v1/models/{a}", "/v1/models/{a}/{b}", "/v1/models/{a}/{b}/{c}"}) {
    page(path, [this](const Request& request) {
      std::string name;
      for (const std::string_view part : request.parts)
        name += (name.empty() ? "" : "/") + decode_part(part);
      return model_reply(name);
    });
  }
  return routes;
}

std::optional<llm::Failure> ApiServer::Core::refusal() const {
  const ServeState state = give_up_at_ ? ServeState::kStopping : catalogue_.state();
  if (state == ServeState::kReady) return std::nullopt;
  return state == ServeState::kLoading ? loading() : stopping();
}

http::ServerReply ApiServer::Core::ready_reply() const {
  if (const auto failure = refusal()) return error_reply(*failure);
  return {.body = R"({"status":"ready"})"};
}

http::ServerReply ApiServer::Core::models_reply() const {
  if (catalogue_.state() == ServeState::kLoading) return error_reply(loading());
  return {.body = models_page(catalogue_.list())};
}

http::ServerReply ApiServer::Core::model_reply(const std::string& name) const {
  if (catalogue_.state() == ServeState::kLoading) return error_reply(loading());
  if (auto page = model_page(catalogue_.list(), name)) return {.body = *std::move(page)};
  return error_reply(llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 404,
      .code = "model_not_found",
      .message = fmt::format("there is no model {}; /v1/models lists them", llm::shown(name)),
      .param = "model"});
}

void ApiServer::Core::take(llm::Endpoint endpoint, bool may_be_tei,
                           const http::ServerRequest& request, http::Exchange exchange) {
  if (const auto failure = refusal()) return exchange.send(error_reply(*failure));
  if (!admission_.take(request.body.size())) return exchange.send(error_reply(full()));
  CallInput input{.endpoint = endpoint,
                  .body = std::move(request.body),
                  .headers = headers_of_call(request.headers),
                  .arrived_at = clock_.now(),
                  .chance = ids_.chance(),
                  .may_be_tei = may_be_tei};
  const auto call =
      std::make_shared<Call>(*this, std::move(exchange), std::move(input), ids_.next());
  calls_.push_front(call);
  call->place = calls_.begin();
  {
    const std::scoped_lock lock(mutex_);
    ++calls_inside_;
  }
  call->begin();
}

void ApiServer::Core::over(Call& call) {
  admission_.release(call.body_bytes());
  calls_.erase(call.place);
  const std::scoped_lock lock(mutex_);
  --calls_inside_;
  ended_.notify_all();
}

void ApiServer::Core::tick() {
  const TimePoint now = clock_.now();
  if (give_up_at_ && now >= *give_up_at_) give_up_all();
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->tick(now);
  tick_.wake_at(now + kTick, [this] { tick(); });
}

void ApiServer::Core::give_up_all() {
  const std::list<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls)
    call->give_up(stopping());
}

// Calls that are given up are answered, and http's own grace is only for those who do not read.
void ApiServer::Core::stop(Duration grace) {
  if (std::exchange(stopped_, true)) return;
  loop_.run([&] {
    give_up_at_ = clock_.now() + grace;
    if (grace <= Duration{}) give_up_all();
  });
  server_->stop(grace + kLastWords);
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return calls_inside_ == 0; });
  }
  server_.reset();
  workers_.stop();
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

uint16_t ApiServer::port() const {
  return core_->port();
}

void ApiServer::stop(Duration grace) {
  core_->stop(grace);
}

}  // namespace windrow::api
