#include "http/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "http/headers.h"

namespace windrow::http {
namespace {

// Whether an IPv4 host lies in "10.0.0.0/8".
bool is_in_network(std::string_view host, std::string_view network) {
  const size_t slash = network.find('/');
  if (slash == std::string_view::npos) return false;
  uint32_t address = 0;
  uint32_t base = 0;
  uint32_t bits = 0;
  const std::string_view width = network.substr(slash + 1);
  const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), bits);
  if (error != std::errc() || end != width.data() + width.size() || bits > 32) return false;
  if (!parse_ipv4(host, address) || !parse_ipv4(network.substr(0, slash), base)) return false;
  return bits == 0 || (address ^ base) >> (32 - bits) == 0;
}

bool excludes(std::string_view entry, const Url& url) {
  if (entry == "*") return true;
  if (is_in_network(url.host, entry)) return true;
  // "host:port"; more than one colon is an IPv6 address.
  const size_t colon = entry.rfind(':');
  if (entry.starts_with('[')) {
    const size_t close = std::min(entry.find(']'), entry.size());
    if (close + 1 < entry.size() && entry.substr(close + 1) != fmt::format(":{}", url.port)) {
      return false;
    }
    entry = entry.substr(1, close - 1);
  } else if (colon != std::string_view::npos && entry.find(':') == colon) {
    if (entry.substr(colon + 1) != fmt::format("{}", url.port)) return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty() || entry.size() > url.host.size()) return false;
  const std::string_view host = url.host;
  const std::string_view end = host.substr(host.size() - entry.size());
  return same_ignoring_case(end, entry) &&
         (end.size() == host.size() || host[host.size() - end.size() - 1] == '.');
}

bool is_excluded(std::string_view list, const Url& url) {
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(", \t"), list.size());
    if (end > 0 && excludes(list.substr(0, end), url)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

ProxySettings read_proxy_settings(const std::function<std::string(const std::string&)>& variable) {
  ProxySettings settings;
  const auto read = [&](std::string& value, std::string& name, const char* capitals) {
    value = variable(name);
    if (!value.empty()) return;
    value = variable(capitals);
    if (!value.empty()) name = capitals;
  };
  settings.http = variable(settings.http_variable);
  read(settings.https, settings.https_variable, "HTTPS_PROXY");
  read(settings.all, settings.all_variable, "ALL_PROXY");
  std::string name = "no_proxy";
  read(settings.no_proxy, name, "NO_PROXY");
  return settings;
}

std::string Proxy::name() const {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t at = url.substr(0, url.find('/', begin)).rfind('@');
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin) + url.substr(at + 1);
}

std::optional<Proxy> choose_proxy(const ProxySettings& settings, const Url& url) {
  const std::string& own = url.tls ? settings.https : settings.http;
  const std::string& value = own.empty() ? settings.all : own;
  if (value.empty() || is_loopback(url) || is_excluded(settings.no_proxy, url)) return std::nullopt;
  Proxy proxy{.url = value,
              .variable = own.empty() ? settings.all_variable
                          : url.tls   ? settings.https_variable
                                      : settings.http_variable};
  if (proxy.url.find("://") == std::string::npos) proxy.url = "http://" + proxy.url;
  return proxy;
}

}  // namespace windrow::http
