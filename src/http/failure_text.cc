#include "http/failure_text.h"

#include <fmt/format.h>

#include "base/format.h"

namespace windrow::http {
namespace {

std::string in_brackets(std::string_view detail) {
  return detail.empty() ? std::string() : fmt::format(" ({})", detail);
}

// Through a proxy, "the server does not answer" may be the proxy's doing.
std::string through(const CallTarget& target) {
  if (!target.proxy) return "";
  return fmt::format("; the call goes through the proxy {} (from {})", target.proxy->name(),
                     target.proxy->variable);
}

}  // namespace

std::string resolve_text(const CallTarget& target, std::string_view detail) {
  return fmt::format(
      "{}: no address was found for '{}'{}; check how the name is written, and that this machine "
      "can "
      "look names up",
      origin(target.url), target.url.host, in_brackets(detail));
}

std::string connect_text(const CallTarget& target, bool refused, std::string_view detail) {
  if (refused) {
    return fmt::format(
        "{}: nothing listens there{}; start the server, or correct the host and the port",
        origin(target.url), in_brackets(detail));
  }
  return fmt::format(
      "{}: could not be reached{}; check that the machine is on, the address is right and no "
      "firewall is between",
      origin(target.url), in_brackets(detail));
}

std::string files_text(const CallTarget& target, std::string_view detail) {
  return fmt::format(
      "{}: this process may open no more connections{}; have fewer requests at a time, or raise "
      "the "
      "limit (ulimit -n)",
      origin(target.url), in_brackets(detail));
}

std::string tls_text(const CallTarget& target, TlsFault fault, std::string_view detail) {
  if (fault.is_plain) {
    return fmt::format(
               "{}: what answers does not speak TLS{}; write http:// if it is a plain server",
               origin(target.url), in_brackets(detail)) +
           through(target);
  }
  if (fault.untrusted) {
    return fmt::format(
               "{}: its certificate is not trusted{}; if it is your own, add its authority to the "
               "system's (update-ca-certificates) or name its file in SSL_CERT_FILE, and use the "
               "host name that the certificate has",
               origin(target.url), in_brackets(detail)) +
           through(target);
  }
  return fmt::format(
             "{}: TLS could not be set up{}; check that this port speaks TLS (write http:// if it "
             "does "
             "not), and that both sides have a version in common",
             origin(target.url), in_brackets(detail)) +
         through(target);
}

std::string proxy_text(const CallTarget& target, int32_t status, std::string_view detail) {
  if (!target.proxy) return protocol_text(target, detail);
  const std::string who =
      fmt::format("the proxy {} (from {})", target.proxy->name(), target.proxy->variable);
  const std::string direct =
      fmt::format("add {} to no_proxy if it is to be reached directly", target.url.host);
  if (status == 407) {
    return fmt::format("{}: {} wants a user name and a password; put them into {}, or {}",
                       origin(target.url), who, target.proxy->variable, direct);
  }
  if (status != 0) {
    return fmt::format("{}: {} answered {}; {}, or ask who runs the proxy", origin(target.url), who,
                       status, direct);
  }
  return fmt::format("{}: {} cannot be used{}; correct {}, or {}", origin(target.url), who,
                     in_brackets(detail), target.proxy->variable, direct);
}

std::string timeout_text(const CallTarget& target, LimitKind kind, const Limits& limits,
                         bool reply_began) {
  switch (kind) {
    case LimitKind::kConnect:
      return fmt::format(
                 "{}: no connection within {}; check that the machine is on, the address is right "
                 "and no firewall is between",
                 origin(target.url), human_duration(limits.connect)) +
             through(target);
    case LimitKind::kIdle:
      return fmt::format(
          "{}: the {} stood still for {}; the server may be overloaded or stuck: look at its log, "
          "or allow it more time",
          origin(target.url), reply_began ? "reply" : "call", human_duration(limits.idle));
    case LimitKind::kTotal:
      break;
  }
  return fmt::format(
      "{}: {} within {}; the server may have too much at once: send fewer requests at a time, or "
      "allow it more time",
      origin(target.url), reply_began ? "the reply did not end" : "no reply",
      human_duration(limits.total));
}

std::string reset_text(const CallTarget& target, bool reply_began, std::string_view detail) {
  return fmt::format(
             "{}: the connection ended {}{}; the server may have stopped or crashed: look at its "
             "log",
             origin(target.url), reply_began ? "in the middle of the reply" : "without a reply",
             in_brackets(detail)) +
         through(target);
}

std::string body_too_large_text(const CallTarget& target, size_t bytes_max) {
  return fmt::format("{}: the reply is larger than {}; ask for less, or allow more",
                     origin(target.url), human_bytes(bytes_max));
}

std::string head_too_large_text(const CallTarget& target) {
  return fmt::format(
      "{}: the header of the reply is larger than {}; check that this is the right server",
      origin(target.url), human_bytes(kReplyHeadBytesMax));
}

std::string protocol_text(const CallTarget& target, std::string_view detail) {
  return fmt::format("{}: what came back is not HTTP{}; check the port{}", origin(target.url),
                     in_brackets(detail),
                     target.url.tls ? "" : ", and write https:// if the server wants TLS") +
         through(target);
}

std::string cancelled_text(const CallTarget& target) {
  return fmt::format("{}: the call was cancelled", origin(target.url));
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
