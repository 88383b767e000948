#include "api/session/session_request.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <utility>

#include "api/keys/keys.h"
#include "api/pages/models_page.h"
#include "api/wire/dialect.h"
#include "api/wire/error_reply.h"
#include "api/wire/refusals.h"
#include "session/service/session_config_reader.h"

namespace windrow::api {
namespace {

constexpr int kUnprocessable = 422;

// Keys of clients are this server's, and mean nothing to another; X-Request-Id is each server's
// own.
bool may_be_sent_on(std::string_view name) {
  constexpr auto kOwn =
      std::to_array<std::string_view>({"Authorization", "X-Api-Key", "Cookie", "X-Request-Id"});
  return std::ranges::none_of(
      kOwn, [&](std::string_view own) { return http::same_ignoring_case(own, name); });
}

}  // namespace

std::unique_ptr<BodyMemory> BodyMemory::take(BodyMemoryBudget& budget, size_t bytes) {
  if (!budget.take(bytes)) return nullptr;
  return std::make_unique<BodyMemory>(budget, bytes);
}

SessionRequest::SessionRequest(PartRequest admitted, const http::ServerRequest& request)
    : PartRequest(std::move(admitted)),
      viewer{.key = context.record().key,
             .presented = std::string(presented_key(request.headers)),
             .sees_all = context.sees_all(),
             .priority_max = context.priority_max()},
      query(request.query),
      head_only(request.method == "HEAD") {
  if (!request.parts.empty()) id = decode_part(request.parts.front());
  for (const http::Headers::Field field : request.headers) {
    if (may_be_sent_on(field.name))
      headers.push_back({.name = std::string(field.name), .value = std::string(field.value)});
  }
}

void SessionRequest::answer(PartAnswer answer) {
  release_body();
  PartRequest::answer(std::move(answer));
}

void SessionRequest::release_body() {
  body = {};
  memory = nullptr;
}

void SessionRequest::refuse(const llm::Failure& failure) {
  context.record().code = failure.code;
  answer(session_error(failure));
}

void WaitingRequest::watch() {
  const std::shared_ptr<SessionRequest> request = request_;
  request->exchange.on_disconnect([self = shared_from_this()] { self->client_left(); });
}

std::shared_ptr<SessionRequest> WaitingRequest::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(request_, nullptr);
}

void WaitingRequest::client_left() {
  const std::shared_ptr<SessionRequest> request = take();
  unwanted_.request_stop();
  if (!request) return;
  const llm::Failure left = windrow::api::client_left();
  request->context.record().status = left.status;
  request->context.record().code = left.code;
}

boost::json::object created_json(const session::CreatedSession& created) {
  return {{"session_id", created.id}, {"session_key", created.key}};
}

boost::json::object list_json(std::span<const session::SessionView> sessions) {
  boost::json::array list;
  for (const session::SessionView& view : sessions) {
    list.push_back({{"id", view.id},
                    {"model", view.model},
                    {"owner", view.owner},
                    {"history", session::to_string(view.history)},
                    {"turns", view.turns},
                    {"tokens", view.tokens},
                    {"rollbacks", view.rollbacks},
                    {"in_flight", view.in_flight},
                    {"bytes", view.bytes},
                    {"created_at", view.created_at_unix_s},
                    {"used_at", view.used_at_unix_s}});
  }
  return {{"sessions", std::move(list)}};
}

http::ServerReply session_error(const llm::Failure& failure) {
  return error_reply(failure, dialect_of_path(kSessionsPath));
}

http::ServerReply samples_error(const llm::Failure& failure) {
  if (status_of(failure) != kUnprocessable) return session_error(failure);
  return {.status = kUnprocessable,
          .content_type = "text/plain; charset=utf-8",
          .body = failure.message};
}

// As a header, because the reply only refers to its Content-Type.
http::ServerReply passed_reply(session::PassedReply reply) {
  http::ServerReply passed{
      .status = reply.status, .content_type = "", .body = std::move(reply.body)};
  if (http::is_header_value(reply.content_type) && !reply.content_type.empty())
    passed.headers.set("Content-Type", reply.content_type);
  return passed;
}

}  // namespace windrow::api
