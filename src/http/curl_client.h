// CurlClient: calls to any HTTP server, by libcurl's multi interface on a Loop. Keep-alive, HTTP/2
// where a TLS server offers it, the system's certificates, proxies, compression. Threads and
// lifetime of calls are Client's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/loop.h"
#include "http/proxy.h"
#include "http/reply_budget.h"

namespace windrow::http {

struct ClientOptions {
  ProxySettings proxies;  // from read_proxy_settings()
  // A PEM file of certificates to trust instead of the system's; "": the system's.
  std::string ca_file;
  // Open connections to all hosts together. A call that needs one more closes the connection that
  // has been idle longest, or waits while none is idle.
  size_t connections_max = size_t{1} << 16;

  // Memory for all replies while they arrive. Outlives the client. Null: no bound.
  ReplyBudget* reply_budget = nullptr;
};

class CurlClient final : public Client {
 public:
  // `loop` must outlive the client.
  CurlClient(Loop& loop, ClientOptions options);
  ~CurlClient() override;

  CallId send(ClientRequest request, Done done) override;
  void cancel(CallId call) override;
  void resume(CallId call) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace windrow::http
