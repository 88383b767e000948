#include "app/settings/serve_options.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "app/settings/fleet_settings.h"

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

Error invalid_serve_option(std::string message) {
  return Error{ErrorKind::kInvalid, std::move(message)};
}

Result<void> check_together(const Settings& settings, const ListenAddress& listen) {
  if (settings.insecure_no_keys && !settings.api_keys.empty()) {
    return invalid_serve_option(
        "--insecure-no-keys and --api-keys contradict each other; leave one out");
  }
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    const bool cert = !settings.tls_cert.empty();
    return invalid_serve_option(
        fmt::format("--tls-{} needs --tls-{}: a certificate and its key belong together",
                    cert ? "cert" : "key", cert ? "key" : "cert"));
  }
  if (settings.log_prompts && settings.log == "none") {
    return invalid_serve_option("--log-prompts needs --log: there is no log to write them to");
  }
  if (!is_loopback(listen.host) && settings.api_keys.empty() && !settings.insecure_no_keys) {
    return invalid_serve_option(fmt::format(
        "--listen {} can be reached by other machines, and requests would need no key; make one "
        "with "
        "`windrow keys add keys.txt NAME` and add --api-keys keys.txt (--insecure-no-keys does "
        "without)",
        settings.listen));
  }
  return {};
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

Result<ServeOptions> serve_options(const Settings& settings) {
  Result<ListenAddress> listen = parse_listen(settings.listen);
  if (!listen) return listen.error().in(fmt::format("--listen {}", settings.listen));
  if (Result<void> checked = check_together(settings, *listen); !checked) return checked.error();
  Result<api::CorsPolicy> cors = api::CorsPolicy::make(settings.cors_origins);
  if (!cors) return cors.error().in("--cors-origin");
  return ServeOptions{.listen = *std::move(listen), .cors = *std::move(cors)};
}

Result<std::map<std::string, std::string>> local_aliases(const Settings& settings,
                                                         const std::vector<std::string>& names) {
  std::map<std::string, std::string> aliases;
  for (const std::string& text : settings.model_aliases) {
    const size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: write NAME=MODEL, a further name of a model", text));
    }
    const std::string name = text.substr(0, sign);
    const std::string model = text.substr(sign + 1);
    if (std::ranges::find(names, model) == names.end()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: no model has the name {}; there is {}", text, model,
                      fmt::join(names, ", ")));
    }
    if (std::ranges::find(names, name) != names.end()) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: a model has the name {} already", text, name));
    }
    const auto [place, added] = aliases.emplace(name, model);
    if (!added && place->second != model) {
      return invalid_serve_option(
          fmt::format("--model-alias {}: {} stands for {} already", text, name, place->second));
    }
  }
  return aliases;
}

Result<void> check_names(const Settings& settings, const std::vector<fleet::ModelChoice>& models) {
  // Upstream servers have names of their own.
  if (models.empty()) return {};
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const fleet::ModelChoice& choice : models)
    names.push_back(fleet::served_name(choice));
  const Result<std::map<std::string, std::string>> aliases = local_aliases(settings, names);
  if (!aliases) return aliases.error();
  const Result<fleet::PoolOptions> pool = pool_options(settings, names);
  if (!pool) return pool.error();
  return {};
}

Result<std::unique_ptr<store::FileLock>> hold_data_dir(const Settings& settings,
                                                       store::Disk& disk) {
  if (settings.data_dir.empty()) return std::unique_ptr<store::FileLock>();
  const std::filesystem::path folder = settings.data_dir;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    return Error{ErrorKind::kIo,
                 fmt::format("--data-dir {}: the folder cannot be created: {}", settings.data_dir,
                             error ? error.message() : "there is a file of this name")};
  }
  Result<std::unique_ptr<store::FileLock>> lock = disk.lock((folder / "server.lock").string());
  if (!lock) return lock.error().in("--data-dir");
  return lock;
}

}  // namespace windrow::app
