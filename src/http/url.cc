#include "http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "http/headers.h"

namespace windrow::http {
namespace {

Error invalid(std::string_view text, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("'{}' is no URL to send to: {}", text, why)};
}

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_ipv6_char(char c) {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.' || c == '%';
}

bool all_of(std::string_view text, bool (*is_good)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_good);
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool parse_port(std::string_view text, uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  // Only printable ASCII can be sent as it is; a line end would begin a header.
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F) {
      return invalid(text,
                     "it has blanks or characters beyond ASCII; write them as %20 and the like");
    }
  }
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    return invalid(text, fmt::format("it has no scheme; write http://{}", text));
  }
  const std::string scheme = in_lower_case(text.substr(0, colon));
  if (scheme != "http" && scheme != "https") {
    return invalid(text, fmt::format("'{}' is not known; http and https are", scheme));
  }
  Url url{.tls = scheme == "https"};
  url.port = url.tls ? 443 : 80;

  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t path = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view place = rest.substr(0, path);
  if (path < rest.size()) {
    url.target = rest[path] == '?' ? fmt::format("/{}", rest.substr(path)) : rest.substr(path);
  }
  if (place.find('@') != std::string_view::npos) {
    return invalid(fmt::format("{}://...@{}", scheme, place.substr(place.rfind('@') + 1)),
                   "it has a user name or a password; a key goes into a header");
  }
  std::string_view port;
  if (place.starts_with('[')) {
    const size_t close = place.find(']');
    if (close == std::string_view::npos) return invalid(text, "a '[' of its host is not closed");
    url.host = in_lower_case(place.substr(1, close - 1));
    port = place.substr(close + 1);
    if (!all_of(url.host, is_ipv6_char) || url.host.find(':') == std::string::npos) {
      return invalid(text, "what stands in brackets is no IPv6 address");
    }
  } else {
    const size_t at = std::min(place.find(':'), place.size());
    url.host = in_lower_case(place.substr(0, at));
    port = place.substr(at);
    if (url.host.empty()) return invalid(text, "it names no host");
    if (!all_of(url.host, is_host_char)) {
      return invalid(text, fmt::format("'{}' can be no host", url.host));
    }
  }
  if (!port.empty() && (!port.starts_with(':') || !parse_port(port.substr(1), url.port))) {
    return invalid(text, "its port is no number from 1 to 65535");
  }
  return url;
}

std::string authority(const Url& url) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  std::string text = is_ipv6 ? fmt::format("[{}]", url.host) : url.host;
  if (url.port != (url.tls ? 443 : 80)) text += fmt::format(":{}", url.port);
  return text;
}

std::string origin(const Url& url) {
  return fmt::format("{}://{}", url.tls ? "https" : "http", authority(url));
}

std::string to_string(const Url& url) {
  return origin(url) + url.target;
}

Url below(const Url& base, std::string_view path) {
  const size_t query_at = std::min(base.target.find('?'), base.target.size());
  std::string target = base.target.substr(0, query_at);
  while (target.ends_with('/'))
    target.pop_back();
  while (path.starts_with('/'))
    path.remove_prefix(1);
  target += '/';
  target += path;
  target += base.target.substr(query_at);
  Url url = base;
  url.target = std::move(target);
  return url;
}

bool is_loopback(const Url& url) {
  uint32_t address = 0;
  if (parse_ipv4(url.host, address)) return address >> 24 == 127;
  return url.host == "localhost" || url.host.ends_with(".localhost") || url.host == "::1";
}

bool parse_ipv4(std::string_view text, uint32_t& address) {
  uint32_t all = 0;
  for (int part = 0; part < 4; ++part) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), byte);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    all = all << 8 | byte;
    if (part == 3) break;
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  if (!text.empty()) return false;
  address = all;
  return true;
}

}  // namespace windrow::http
