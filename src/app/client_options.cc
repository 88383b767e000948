#include "app/client_options.h"

#include <string>

#include "http/proxy.h"

namespace windrow::app {

http::ClientOptions client_options(const Environment& environment) {
  return {.proxies = http::read_proxy_settings(
              [&](const std::string& name) { return variable(environment, name); }),
          .ca_file = variable(environment, "SSL_CERT_FILE")};
}

}  // namespace windrow::app
