// open_client: the Client that most callers want. Each call takes the cheapest way that can serve
// it: LeanClient for plain HTTP that goes through no proxy, CurlClient for the rest.
#pragma once

#include <memory>
#include <string>

#include "http/client.h"
#include "http/loop.h"
#include "http/proxy.h"

namespace windrow::http {

struct ClientOptions {
  ProxySettings proxies;  // as read_proxy_settings reads them
  std::string ca_file;    // trusted instead of the system's certificates; "": the system's

  // Connections that may be open at a time, those included that are kept for later calls. They are
  // counted apart for calls that LeanClient serves and the others.
  size_t connections_max = size_t{1} << 16;

  // Bytes of replies that may be in memory at a time while they are received (reply_room.h); those
  // that on_data takes are not counted. 0: as many as come.
  size_t reply_room_bytes = 0;
};

// Whether LeanClient can serve it.
bool suits_lean_client(const ClientRequest& request, const ProxySettings& proxies);

// `loop` must outlive the client.
std::unique_ptr<Client> open_client(Loop& loop, ClientOptions options);

}  // namespace windrow::http
