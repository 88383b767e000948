#include "sim_upstream/fault_replies.h"

#include <fmt/format.h>

#include "sim_upstream/pages.h"

namespace windrow::sim_upstream {
namespace {

void replace_body(SimReply& reply, std::string body) {
  reply.body = std::move(body);
  reply.more = nullptr;
}

}  // namespace

bool strike_reply(const Strike& strike, SimReply& reply) {
  switch (strike.kind) {
    case FaultKind::kReset:
      reply.delivery = Delivery::kReset;
      return true;
    case FaultKind::kSlowBody:
      if (reply.more) reply.body += reply.more->take_all();
      reply.more = nullptr;
      reply.delivery = Delivery::kSlow;
      reply.body_time = strike.duration.value_or(std::chrono::seconds(1));
      return true;
    case FaultKind::kTruncated:
      if (reply.more) {
        reply.more->cut(reply.more->bytes() / 2);
      } else {
        reply.body.resize(reply.body.size() / 2);
      }
      return true;
    case FaultKind::kContentType:
      reply.content_type = "text/html";
      replace_body(reply,
                   "<html><body><h1>Welcome</h1><p>Please sign in to go on.</p></body></html>");
      return true;
    case FaultKind::kNotJson:
      replace_body(reply, "an answer that is no JSON");
      return true;
    case FaultKind::kErrorObject:
      replace_body(reply, error_body("something went wrong inside", "server_error", ""));
      return true;
    default:
      return false;
  }
}

std::optional<SimReply> refusal_of(FaultKind kind) {
  constexpr std::string_view kBroken = "something went wrong inside";
  const auto plain = [](SimReply reply) {
    make_plain(reply);
    return reply;
  };
  switch (kind) {
    case FaultKind::kStatus500:
      return error_reply(500, kBroken, "server_error");
    case FaultKind::kStatus502:
      return error_reply(502, kBroken, "server_error");
    case FaultKind::kStatus503:
      return error_reply(503, kBroken, "server_error");
    case FaultKind::kStatus400:
      return error_reply(400, "the request is refused by a fault", kInvalidRequest);
    case FaultKind::kText400:
      return plain({.status = 400});
    case FaultKind::kText500:
      return plain({.status = 500});
    default:
      return std::nullopt;
  }
}

void make_plain(SimReply& reply) {
  reply.content_type = "text/plain";
  reply.body = reply.status == 400   ? "Bad Request"
               : reply.status == 429 ? "Too Many Requests"
                                     : "Internal Server Error";
}

bool is_never_streamed(FaultKind kind) {
  return kind == FaultKind::kContentType || kind == FaultKind::kNotJson ||
         kind == FaultKind::kErrorObject;
}

}  // namespace windrow::sim_upstream
