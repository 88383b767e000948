#include "app/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>

namespace windrow::app {
namespace {

Error refuse_address(std::string_view text, std::string_view why) {
  return Error{ErrorKind::kInvalid,
               fmt::format("--listen {}: {}; write HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080",
                           text, why)};
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse_address(text, "there is no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) {
      return refuse_address(text, "brackets are for addresses with colons");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return refuse_address(text, "an address with colons stands in brackets");
  }
  if (host.empty()) return refuse_address(text, "there is no host");
  if (host.find_first_of("[]/ \t") != std::string_view::npos) {
    return refuse_address(text, fmt::format("\"{}\" is no address", host));
  }
  constexpr unsigned kPortMax = 65'535;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port > kPortMax) {
    return refuse_address(text, fmt::format("\"{}\" is no port from 0 to {}", digits, kPortMax));
  }
  return ListenAddress{.host = std::string(host), .port = static_cast<uint16_t>(port)};
}

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24U == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string local_url(const ListenAddress& address, bool tls) {
  const bool all_v4 = address.host == "0.0.0.0";
  const bool all_v6 = address.host == "::";
  const std::string host = all_v4 ? "127.0.0.1" : all_v6 ? "::1" : address.host;
  const bool colons = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", tls ? "https" : "http", colons ? "[" : "", host,
                     colons ? "]" : "", address.port);
}

}  // namespace windrow::app
