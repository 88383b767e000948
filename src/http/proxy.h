// Which proxy a request goes through, by the environment variables that other tools obey too. Pure:
// the caller passes the variables in.
//
// http_proxy (lower case only: as HTTP_PROXY it could come from a request's header in a CGI
// program), https_proxy, all_proxy, no_proxy; the others in upper case too. no_proxy is a list of
// hosts, each with its subdomains and an optional port; IPv4 networks such as 10.0.0.0/8; or "*".
// This machine itself is never reached through a proxy, which could not do it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "http/url.h"

namespace windrow::http {

struct ProxySettings {
  std::string http;  // a URL or host:port; "": none
  std::string https;
  std::string all;  // used where the two above are empty
  std::string no_proxy;
  // The names of the variables, for messages.
  std::string http_variable = "http_proxy";
  std::string https_variable = "https_proxy";
  std::string all_variable = "all_proxy";
};

// Reads the variables above. `variable` gives the value of an environment variable, "" if it is not
// set.
ProxySettings read_proxy_settings(const std::function<std::string(const std::string&)>& variable);

struct Proxy {
  std::string url;       // with a scheme; may have a password
  std::string variable;  // that set it

  // For messages: without the password.
  std::string name() const;
};

// The proxy for `url`; nullopt: it is reached directly.
std::optional<Proxy> choose_proxy(const ProxySettings& settings, const Url& url);

}  // namespace windrow::http
