// Messages for people when a call fails: the cause, the place, and what to do next. Pure. `detail`:
// the message of the system or a library; it may be empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/call_limits.h"
#include "http/client.h"
#include "http/proxy.h"
#include "http/url.h"

namespace windrow::http {

// Where a call was sent.
struct CallTarget {
  Url url;
  std::optional<Proxy> proxy;
};

std::string resolve_text(const CallTarget& target, std::string_view detail);

// `refused`: the connection was refused; otherwise nothing answered.
std::string connect_text(const CallTarget& target, bool refused, std::string_view detail);

// This process may open no more sockets.
std::string files_text(const CallTarget& target, std::string_view detail);

// `untrusted`: TLS works, but the certificate is not trusted. `is_plain`: the server does not speak
// TLS.
struct TlsFault {
  bool untrusted = false;
  bool is_plain = false;
};
std::string tls_text(const CallTarget& target, TlsFault fault, std::string_view detail);

// `status`: the proxy's answer; 0: none.
std::string proxy_text(const CallTarget& target, int32_t status, std::string_view detail);

std::string timeout_text(const CallTarget& target, LimitKind kind, const Limits& limits,
                         bool reply_began);
std::string reset_text(const CallTarget& target, bool reply_began, std::string_view detail);
std::string body_too_large_text(const CallTarget& target, size_t bytes_max);
std::string head_too_large_text(const CallTarget& target);
std::string protocol_text(const CallTarget& target, std::string_view detail);
std::string cancelled_text(const CallTarget& target);

// Why a request cannot be sent as it is; nullopt: it can.
std::optional<std::string> request_fault(const ClientRequest& request);

}  // namespace windrow::http
