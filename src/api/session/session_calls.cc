#include "api/session/session_calls.h"

#include <embedded/session_openapi.json.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "api/pages/listing.h"
#include "api/session/body_delivery.h"
#include "api/session/session_turn.h"
#include "api/session/turn_format.h"
#include "api/wire/dialect.h"
#include "api/wire/refusals.h"
#include "session/samples/mismatch.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr std::string_view kSessionPath = "/sessions/{id}";
constexpr std::string_view kOtherPath = "/sessions/{id}/{path...}";

llm::Failure no_sessions() {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 501,
          .code = "no_sessions",
          .message = "this server was started without sessions; its operator must switch them on"};
}

llm::Failure body_too_large(size_t bytes_max) {
  return {
      .failure_class = llm::FailureClass::kRequest,
      .status = 413,
      .code = "request_too_large",
      .message = fmt::format("the body is larger than {} MiB, which is what this server accepts "
                             "for sessions; send less, or ask its operator for a higher "
                             "--session-body-mb",
                             bytes_max >> 20U)};
}

bool is_of_sessions(std::string_view path) {
  return path.starts_with(kSessionsPath) &&
         (path.size() == kSessionsPath.size() || path[kSessionsPath.size()] == '/');
}

std::optional<size_t> announced_bytes(const http::Headers& headers) {
  const std::string_view text = headers.get("Content-Length").value_or("");
  size_t bytes = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return bytes;
}

// ?records=none|last|all
std::variant<session::RecordsShown, llm::Failure> wanted_records(std::string_view text) {
  const Query query(text);
  if (const auto problem = query.only({"records"})) return *problem;
  const std::string wanted = query.text("records").value_or("all");
  if (wanted == "none") return session::RecordsShown::kNone;
  if (wanted == "last") return session::RecordsShown::kLast;
  if (wanted == "all") return session::RecordsShown::kAll;
  return llm::Failure{
      .failure_class = llm::FailureClass::kRequest,
      .status = 400,
      .code = "invalid_value",
      .message = fmt::format("records is \"{}\"; it must be none, last or all", wanted),
      .param = "records"};
}

}  // namespace

void add_session_metrics(const session::SessionCounts& counts, MetricsWriter& page) {
  page.family("windrow_sessions", "gauge", "Sessions of /sessions.");
  page.sample({}, counts.sessions);
  page.family("windrow_sessions_bytes", "gauge", "Bytes that all sessions keep.");
  page.sample({}, counts.bytes);
  page.family("windrow_sessions_turns_in_flight", "gauge",
              "Turns of sessions that a model works at.");
  page.sample({}, counts.in_flight);
  page.family("windrow_sessions_total", "counter", "Sessions, by what became of them.");
  page.sample({{"event", "created"}}, counts.created);
  page.sample({{"event", "deleted"}}, counts.deleted);
  page.sample({{"event", "expired"}}, counts.expired);
  page.family("windrow_sessions_turns_total", "counter", "Turns of sessions, by how they ended.");
  page.sample({{"result", "committed"}}, counts.turns_committed);
  page.sample({{"result", "overtaken"}}, counts.turns_overtaken);
  page.sample({{"result", "failed"}}, counts.turns_failed);
  page.family("windrow_sessions_rollbacks_total", "counter",
              "Turns of sessions that took the place of earlier ones.");
  page.sample({}, counts.rollbacks);
  page.family("windrow_sessions_mismatches_total", "counter",
              "Differences between the tokens of samples and those of the chat template, by kind.");
  for (size_t kind = 0; kind < std::size(counts.mismatches); ++kind) {
    page.sample({{"type", session::to_string(static_cast<session::MismatchKind>(kind))}},
                counts.mismatches[kind]);
  }
  page.family("windrow_sessions_refused_total", "counter",
              "Requests for sessions that were above a limit of sessions.");
  page.sample({}, counts.refused_by_limits);
}

SessionCalls::SessionCalls(const PartHost& host, session::SessionService* service,
                           SessionThreads threads)
    : host_(host),
      service_(service),
      bodies_memory_(threads.body_bytes_max),
      turns_(threads.turns, async::Executor::Start::kWithFirstTask),
      replies_(1, async::Executor::Start::kWithFirstTask),
      bodies_(threads.bodies, async::Executor::Start::kWithFirstTask) {}

SessionCalls::~SessionCalls() = default;

PartFactory session_part(session::SessionService* service, SessionThreads threads) {
  return [service, threads](const PartHost& host) {
    return std::make_unique<SessionCalls>(host, service, threads);
  };
}

void SessionCalls::stop() {
  turns_.stop();
  replies_.stop();
  bodies_.stop();
}

void SessionCalls::add_routes(const Add& add) {
  const auto route = [&](std::string_view method, std::string_view path, Access access,
                         async::Executor& workers, Work work) {
    add(method, path,
        [this, access, &workers, work](const http::ServerRequest& request, http::Exchange to) {
          take(access, workers, work, request, std::move(to));
        });
  };
  route("POST", kSessionsPath, Access::kKey, turns_, &SessionCalls::create);
  route("GET", kSessionsPath, Access::kKey, turns_, &SessionCalls::list);
  route("GET", kSessionPath, Access::kChosen, bodies_, &SessionCalls::show);
  route("DELETE", kSessionPath, Access::kChosen, turns_, &SessionCalls::remove);
  route("POST", "/sessions/{id}/samples", Access::kChosen, bodies_, &SessionCalls::make_samples);
  for (const bool is_message : {false, true}) {
    add("POST",
        fmt::format("{}{}", kSessionPath, is_message ? kMessagesPath : "/v1/chat/completions"),
        [this, is_message](const http::ServerRequest& request, http::Exchange to) {
          take_turn(is_message, request, std::move(to));
        });
  }
  using Method = llm::HttpMethod;
  for (const auto& [name, method] :
       {std::pair("GET", Method::kGet), std::pair("POST", Method::kPost),
        std::pair("PUT", Method::kPut), std::pair("PATCH", Method::kPatch),
        std::pair("DELETE", Method::kDelete)}) {
    add(name, kOtherPath, [this, method](const http::ServerRequest& request, http::Exchange to) {
      take_other(method, request, std::move(to));
    });
  }
}

void SessionCalls::metrics(MetricsWriter& page) const {
  add_session_metrics(service_ == nullptr ? session::SessionCounts{} : service_->counts(), page);
}

void SessionCalls::add_health(json::object& page) const {
  if (service_ != nullptr) page["session_server_instance_id"] = service_->instance_id();
}

json::object SessionCalls::openapi() const {
  return json::parse(embedded::kSessionOpenapiJson).as_object();
}

// A session's own key is none that the server knows, so only the service can judge it.
std::optional<ServerPart::HeadVerdict> SessionCalls::judge_head(
    const http::ServerRequest& head) const {
  if (service_ == nullptr || !is_of_sessions(head.path)) return std::nullopt;
  if (head.path == kSessionsPath) {
    if (auto refused = host_.guard.refuse_at_head(head))
      return HeadVerdict{.refusal = std::move(refused)};
  }
  const size_t bytes_max = service_->options().limits.body_bytes_max;
  if (announced_bytes(head.headers).value_or(0) <= bytes_max) return HeadVerdict{};
  auto entered = host_.guard.admit(head, Access::kChosen);
  if (auto* refused = std::get_if<http::ServerReply>(&entered))
    return HeadVerdict{.refusal = std::move(*refused)};
  auto& context = std::get<RequestContext>(entered);
  const llm::Failure failure = body_too_large(bytes_max);
  http::ServerReply reply = session_error(failure);
  context.record().status = reply.status;
  context.record().code = failure.code;
  context.add_headers(reply.headers);
  return HeadVerdict{.refusal = std::move(reply)};
}

// Null: the request has been answered.
SessionCalls::Request SessionCalls::accept(const http::ServerRequest& request,
                                           http::Exchange exchange, Access access) {
  std::optional<PartRequest> admitted = host_.admit(request, std::move(exchange), access);
  if (!admitted) return nullptr;
  auto accepted = std::make_shared<SessionRequest>(*std::move(admitted), request);
  const auto refuse = [&](const llm::Failure& failure) {
    accepted->refuse(failure);
    return nullptr;
  };
  if (service_ == nullptr) return refuse(no_sessions());
  const size_t bytes_max = service_->options().limits.body_bytes_max;
  if (request.body.size() > bytes_max) return refuse(body_too_large(bytes_max));
  accepted->memory = BodyMemory::take(bodies_memory_, request.body.size());
  if (!accepted->memory) return refuse(no_room_for_body());
  accepted->body = std::move(request.body);
  return accepted;
}

void SessionCalls::take(Access access, async::Executor& workers, Work work,
                        const http::ServerRequest& request, http::Exchange exchange) {
  Request accepted = accept(request, std::move(exchange), access);
  if (!accepted) return;
  workers.post([this, work, accepted = std::move(accepted)] {
    // A request that the server has no memory for fails alone.
    try {
      (this->*work)(accepted);
    } catch (const std::bad_alloc&) {
      accepted->refuse(no_memory("for this"));
    } catch (const std::exception&) {
      accepted->refuse(unexpected("answer this"));
    }
  });
}

void SessionCalls::take_turn(bool is_message, const http::ServerRequest& request,
                             http::Exchange exchange) {
  Request accepted = accept(request, std::move(exchange), Access::kChosen);
  if (!accepted) return;
  // The body that the model's server gets is another one.
  std::erase_if(accepted->headers, [](const llm::RequestHeader& header) {
    return http::same_ignoring_case(header.name, "Content-Type");
  });
  std::unique_ptr<TurnFormat> format;
  if (is_message) {
    format = std::make_unique<MessagesTurnFormat>(accepted->context.record().id);
  } else {
    format = std::make_unique<ChatTurnFormat>();
  }
  turns_.post([turn = SessionTurn::begin(std::move(accepted), std::move(format), *service_,
                                         replies_)] { turn->ask(); });
}

// The path behind the session and the query go on as they were sent.
void SessionCalls::take_other(llm::HttpMethod method, const http::ServerRequest& request,
                              http::Exchange exchange) {
  Request accepted = accept(request, std::move(exchange), Access::kChosen);
  if (!accepted) return;
  std::string target = fmt::format("/{}", request.parts.back());
  if (!request.query.empty()) target += fmt::format("?{}", request.query);
  auto waiting = std::make_shared<WaitingRequest>(accepted);
  waiting->watch();
  turns_.post([this, waiting, method, target = std::move(target)] {
    session::SessionViewer viewer;
    std::string id;
    std::string body;
    std::vector<llm::RequestHeader> headers;
    const bool here = waiting->use([&](SessionRequest& request) {
      viewer = request.viewer;
      id = request.id;
      body = std::move(request.body);
      headers = std::move(request.headers);
    });
    if (!here) return;
    service_->pass(viewer, id, {.method = method, .target = target}, std::move(body),
                   std::move(headers), waiting->unwanted(),
                   [waiting](std::variant<session::PassedReply, llm::Failure> end) {
                     const Request request = waiting->take();
                     if (!request) return;
                     if (const auto* failure = std::get_if<llm::Failure>(&end))
                       return request->refuse(*failure);
                     request->answer(passed_reply(std::get<session::PassedReply>(std::move(end))));
                   });
  });
}

// --- on workers ---------------------------------------------------------------------------------

void SessionCalls::create(const Request& request) {
  if (const auto failure = request->memory->take_for_parsing(request->body))
    return request->refuse(*failure);
  const auto created = service_->create(request->viewer, request->body);
  if (const auto* failure = std::get_if<llm::Failure>(&created)) return request->refuse(*failure);
  request->answer(http::ServerReply{
      .body = json::serialize(created_json(std::get<session::CreatedSession>(created)))});
}

void SessionCalls::list(const Request& request) {
  const auto found = service_->list(request->viewer);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return request->refuse(*failure);
  request->answer(http::ServerReply{
      .body = json::serialize(list_json(std::get<std::vector<session::SessionView>>(found)))});
}

void SessionCalls::show(const Request& request) {
  stand_back();
  const auto records = wanted_records(request->query);
  if (const auto* failure = std::get_if<llm::Failure>(&records)) return request->refuse(*failure);
  auto shown =
      service_->show(request->viewer, request->id, std::get<session::RecordsShown>(records));
  if (const auto* failure = std::get_if<llm::Failure>(&shown)) return request->refuse(*failure);
  BodyDelivery::start(request, std::get<std::unique_ptr<session::BodySource>>(std::move(shown)),
                      "application/json", bodies_);
}

void SessionCalls::make_samples(const Request& request) {
  stand_back();
  if (const auto failure = request->memory->take_for_parsing(request->body))
    return request->refuse(*failure);
  auto made = service_->samples(request->viewer, request->id, request->body);
  if (const auto* failure = std::get_if<llm::Failure>(&made)) {
    request->context.record().code = failure->code;
    return request->answer(samples_error(*failure));
  }
  BodyDelivery::start(request, std::get<std::unique_ptr<session::BodySource>>(std::move(made)),
                      "application/octet-stream", bodies_);
}

void SessionCalls::remove(const Request& request) {
  const auto removed = service_->remove(request->viewer, request->id);
  if (const auto* failure = std::get_if<llm::Failure>(&removed)) return request->refuse(*failure);
  request->answer(http::ServerReply{.status = 204, .content_type = ""});
}

}  // namespace windrow::api
