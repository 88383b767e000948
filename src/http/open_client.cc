#include "http/open_client.h"

#include <utility>

#include "http/curl_client.h"
#include "http/lean_client.h"

namespace windrow::http {
namespace {

// The lowest bit of a call's id tells whose it is.
class RoutingClient final : public Client {
 public:
  RoutingClient(Loop& loop, ClientOptions options)
      : proxies_(options.proxies),
        room_(options.reply_room_bytes > 0 ? options.reply_room_bytes : SIZE_MAX),
        curl_(loop, {.proxies = std::move(options.proxies),
                     .ca_file = std::move(options.ca_file),
                     .connections_max = options.connections_max,
                     .reply_room = &room_}),
        lean_(loop, {.connections_max = options.connections_max, .reply_room = &room_}) {}

  CallId send(ClientRequest request, Done done) override {
    const bool is_lean = suits_lean_client(request, proxies_);
    Client& client = is_lean ? static_cast<Client&>(lean_) : curl_;
    const CallId inner = client.send(std::move(request), std::move(done));
    return CallId(inner.value() * 2 + (is_lean ? 1 : 0));
  }

  void cancel(CallId call) override {
    Client& client = call.value() % 2 == 1 ? static_cast<Client&>(lean_) : curl_;
    client.cancel(CallId(call.value() / 2));
  }

 private:
  const ProxySettings proxies_;
  ReplyRoom room_;
  CurlClient curl_;
  LeanClient lean_;
};

}  // namespace

bool suits_lean_client(const ClientRequest& request, const ProxySettings& proxies) {
  return !request.url.tls && request.redirects_max == 0 &&
         !request.headers.has("Accept-Encoding") && !choose_proxy(proxies, request.url);
}

std::unique_ptr<Client> open_client(Loop& loop, ClientOptions options) {
  return std::make_unique<RoutingClient>(loop, std::move(options));
}

}  // namespace windrow::http
