#include "app/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>

namespace windrow::app {
namespace {

constexpr std::string_view kThisMachine = "127.0.0.1";

Error refuse_address(std::string_view why) {
  return Error{ErrorKind::kInvalid,
               fmt::format("{}; write HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, or a port "
                           "alone",
                           why)};
}

// Empty: an address, or a name, which only the system can look up.
std::string_view fault_of_host(const std::string& host) {
  if (host.find(':') != std::string::npos) {
    in6_addr v6{};
    const std::string address = host.substr(0, host.find('%'));
    return inet_pton(AF_INET6, address.c_str(), &v6) == 1 ? "" : "an IPv6 address";
  }
  if (host.find_first_not_of("0123456789.") != std::string::npos) return "";
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1
             ? ""
             : "an IPv4 address, which is four numbers from 0 to 255";
}

}  // namespace

Result<ListenAddress> parse_listen(std::string_view text) {
  const size_t colon = text.rfind(':');
  const bool port_alone = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (colon == std::string_view::npos && !port_alone) return refuse_address("there is no port");
  std::string_view host = port_alone || colon == 0 ? kThisMachine : text.substr(0, colon);
  const std::string_view digits = port_alone ? text : text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) {
      return refuse_address("brackets are for addresses with colons");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return refuse_address("an address with colons stands in brackets");
  }
  if (host.empty() || host.find_first_of("[]/ \t") != std::string_view::npos) {
    return refuse_address(fmt::format("\"{}\" is not an address", host));
  }
  if (const std::string_view fault = fault_of_host(std::string(host)); !fault.empty())
    return refuse_address(fmt::format("\"{}\" is not {}", host, fault));
  constexpr unsigned kPortMax = 65'535;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port > kPortMax) {
    return refuse_address(fmt::format("\"{}\" is not a port from 0 to {}", digits, kPortMax));
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
