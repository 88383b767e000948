// What people read when a call fails: what went wrong, where, and what to do next. Pure, and the
// same for both clients. `detail` is what the system or a library said; it may be empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/limits.h"
#include "http/proxy.h"
#include "http/url.h"

namespace windrow::http {

// What a call was at when it failed.
struct CallPlace {
  Url url;
  std::optional<Proxy> proxy;
};

std::string resolve_text(const CallPlace& place, std::string_view detail);

// `refused`: something is there and said no; otherwise nothing answered.
std::string connect_text(const CallPlace& place, bool refused, std::string_view detail);

// This process may open no more sockets.
std::string files_text(const CallPlace& place, std::string_view detail);

// `untrusted`: TLS works, but the certificate is not believed. `is_plain`: what answered does not
// speak TLS at all.
struct TlsFault {
  bool untrusted = false;
  bool is_plain = false;
};
std::string tls_text(const CallPlace& place, TlsFault fault, std::string_view detail);

// `status`: what the proxy answered, 0 when it did not.
std::string proxy_text(const CallPlace& place, int32_t status, std::string_view detail);

std::string timeout_text(const CallPlace& place, LimitKind kind, const Limits& limits,
                         bool reply_began);
std::string reset_text(const CallPlace& place, bool reply_began, std::string_view detail);
std::string body_too_large_text(const CallPlace& place, size_t bytes_max);
std::string head_too_large_text(const CallPlace& place);
std::string protocol_text(const CallPlace& place, std::string_view detail);
std::string cancelled_text(const CallPlace& place);

// Why a request cannot be sent as it is, or nothing.
std::optional<std::string> request_fault(const ClientRequest& request);

}  // namespace windrow::http
