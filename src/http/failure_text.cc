#include "http/failure_text.h"

#include <fmt/format.h>

#include "base/format.h"

namespace windrow::http {
namespace {

std::string in_brackets(std::string_view detail) {
  return detail.empty() ? std::string() : fmt::format(" ({})", detail);
}

// Through a proxy, "the server does not answer" may be the proxy's doing.
std::string through(const CallPlace& place) {
  if (!place.proxy) return "";
  return fmt::format("; the call goes through the proxy {} (from {})", place.proxy->name(),
                     place.proxy->variable);
}

}  // namespace

std::string resolve_text(const CallPlace& place, std::string_view detail) {
  return fmt::format(
      "{}: no address was found for '{}'{}; check how the name is written, and that this machine "
      "can "
      "look names up",
      origin(place.url), place.url.host, in_brackets(detail));
}

std::string connect_text(const CallPlace& place, bool refused, std::string_view detail) {
  if (refused) {
    return fmt::format(
        "{}: nothing listens there{}; start the server, or correct the host and the port",
        origin(place.url), in_brackets(detail));
  }
  return fmt::format(
      "{}: could not be reached{}; check that the machine is on, the address is right and no "
      "firewall is between",
      origin(place.url), in_brackets(detail));
}

std::string files_text(const CallPlace& place, std::string_view detail) {
  return fmt::format(
      "{}: this process may open no more connections{}; have fewer requests at a time, or raise "
      "the "
      "limit (ulimit -n)",
      origin(place.url), in_brackets(detail));
}

std::string tls_text(const CallPlace& place, TlsFault fault, std::string_view detail) {
  if (fault.is_plain) {
    return fmt::format(
               "{}: what answers does not speak TLS{}; write http:// if it is a plain server",
               origin(place.url), in_brackets(detail)) +
           through(place);
  }
  if (fault.untrusted) {
    return fmt::format(
               "{}: its certificate is not trusted{}; if it is your own, add its authority to the "
               "system's (update-ca-certificates) or name its file in SSL_CERT_FILE, and use the "
               "host name that the certificate has",
               origin(place.url), in_brackets(detail)) +
           through(place);
  }
  return fmt::format(
             "{}: TLS could not be set up{}; check that this port speaks TLS (write http:// if it "
             "does "
             "not), and that both sides have a version in common",
             origin(place.url), in_brackets(detail)) +
         through(place);
}

std::string proxy_text(const CallPlace& place, int32_t status, std::string_view detail) {
  if (!place.proxy) return protocol_text(place, detail);
  const std::string who =
      fmt::format("the proxy {} (from {})", place.proxy->name(), place.proxy->variable);
  const std::string direct =
      fmt::format("add {} to no_proxy if it is to be reached directly", place.url.host);
  if (status == 407) {
    return fmt::format("{}: {} wants a user name and a password; put them into {}, or {}",
                       origin(place.url), who, place.proxy->variable, direct);
  }
  if (status != 0) {
    return fmt::format("{}: {} answered {}; {}, or ask who runs the proxy", origin(place.url), who,
                       status, direct);
  }
  return fmt::format("{}: {} cannot be used{}; correct {}, or {}", origin(place.url), who,
                     in_brackets(detail), place.proxy->variable, direct);
}

std::string timeout_text(const CallPlace& place, LimitKind kind, const Limits& limits,
                         bool reply_began) {
  switch (kind) {
    case LimitKind::kConnect:
      return fmt::format(
                 "{}: no connection within {}; check that the machine is on, the address is right "
                 "and no firewall is between",
                 origin(place.url), human_duration(limits.connect)) +
             through(place);
    case LimitKind::kIdle:
      return fmt::format(
          "{}: the {} stood still for {}; the server may be overloaded or stuck: look at its log, "
          "or allow it more time",
          origin(place.url), reply_began ? "reply" : "call", human_duration(limits.idle));
    case LimitKind::kTotal:
      break;
  }
  return fmt::format(
      "{}: {} within {}; the server may have too much at once: send fewer requests at a time, or "
      "allow it more time",
      origin(place.url), reply_began ? "the reply did not end" : "no reply",
      human_duration(limits.total));
}

std::string reset_text(const CallPlace& place, bool reply_began, std::string_view detail) {
  return fmt::format(
             "{}: the connection ended {}{}; the server may have stopped or crashed: look at its "
             "log",
             origin(place.url), reply_began ? "in the middle of the reply" : "without a reply",
             in_brackets(detail)) +
         through(place);
}

std::string body_too_large_text(const CallPlace& place, size_t bytes_max) {
  return fmt::format("{}: the reply is larger than {}; ask for less, or allow more",
                     origin(place.url), human_bytes(bytes_max));
}

std::string head_too_large_text(const CallPlace& place) {
  return fmt::format(
      "{}: the header of the reply is larger than {}; check that this is the right server",
      origin(place.url), human_bytes(kReplyHeadBytesMax));
}

std::string protocol_text(const CallPlace& place, std::string_view detail) {
  return fmt::format("{}: what came back is not HTTP{}; check the port{}", origin(place.url),
                     in_brackets(detail),
                     place.url.tls ? "" : ", and write https:// if the server wants TLS") +
         through(place);
}

std::string cancelled_text(const CallPlace& place) {
  return fmt::format("{}: the call was cancelled", origin(place.url));
}

std::optional<std::string> request_fault(const ClientRequest& request) {
  for (const Headers::Field field : request.headers) {
    if (!is_header_name(field.name)) {
      return fmt::format("{}: '{}' is no name of a header; use letters, digits and '-'",
                         origin(request.url), field.name);
    }
    // The value may be a key, so it is not shown.
    if (!is_header_value(field.value)) {
      return fmt::format(
          "{}: the value of the header {} has a line end or another control character; remove it",
          origin(request.url), field.name);
    }
  }
  return std::nullopt;
}

}  // namespace windrow::http
