// How the program reaches servers: through the proxies and with the certificates that the variables
// of the environment name, as other tools do.
#pragma once

#include "app/environment.h"
#include "http/curl_client.h"

namespace windrow::app {

http::ClientOptions client_options(const Environment& environment);

}  // namespace windrow::app
