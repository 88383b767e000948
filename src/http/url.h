// Url: where a request goes. Pure: no name is looked up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace windrow::http {

struct Url {
  bool tls = false;  // https
  std::string host;  // in lower case; an IPv6 address without its brackets
  uint16_t port = 80;
  std::string target = "/";  // path and query, as sent

  friend bool operator==(const Url&, const Url&) = default;
};

// Reads an http or https URL. A fragment is dropped: it is never sent. kInvalid, with what to write
// instead: no scheme, a user name or password (keys belong into headers), characters that no host
// or path has.
Result<Url> parse_url(std::string_view text);

// "host:port" for a Host header: without the scheme's default port, with brackets around IPv6.
std::string authority(const Url& url);

// "http://host:port", for messages: without the query, in which some servers expect keys.
std::string origin(const Url& url);

std::string to_string(const Url& url);

// `path` below `base`, with one slash between; the query of `base` stays at the end.
// ("http://h/v1?k=1", "/models") -> "http://h/v1/models?k=1"
Url below(const Url& base, std::string_view path);

// Whether the host is this machine by its name or address: localhost, 127.0.0.0/8, ::1.
bool is_loopback(const Url& url);

// "10.1.2.3" -> 0x0A010203. False: it is no IPv4 address in its usual form.
bool parse_ipv4(std::string_view text, uint32_t& address);

}  // namespace windrow::http
