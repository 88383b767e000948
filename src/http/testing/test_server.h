// TestServer: a real HTTP/1.1 server on loopback that misbehaves as a test asks: cuts replies off,
// dribbles them, stalls, speaks TLS with an untrusted certificate, is a proxy. For tests of
// clients; http/server.h is Windrow's own server.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "http/headers.h"
#include "http/testing/test_certificate.h"
#include "http/url.h"

namespace windrow::http::testing {

struct TestRequest {
  std::string method;
  std::string target;  // as it came: a proxy gets a whole URL
  Headers headers;
  std::string body;
};

struct TestReply {
  enum class Framing : uint8_t {
    kLength,   // Content-Length
    kChunked,  // in chunks of chunk_bytes
    kClose,    // the end of the connection ends it
    kRaw,      // `body` is all that is sent, from its status line on
  };
  enum class End : uint8_t {
    kKeep,   // as HTTP/1.1 wants it
    kClose,  // in order
    kReset,  // with a reset
    kStall,  // nothing more comes, until the client goes
  };

  int32_t status = 200;
  Headers headers;
  std::string body;
  Framing framing = Framing::kLength;
  size_t chunk_bytes = 1000;
  size_t bytes_max = std::numeric_limits<size_t>::max();  // of all that is sent; then `end`
  End end = End::kKeep;
  size_t piece_bytes = 0;  // 0: sent as one
  Duration piece_gap{};    // between two pieces
  // CONNECT: after the reply, bytes go to and from this port of 127.0.0.1.
  uint16_t tunnel_port = 0;
};

struct TestServerOptions {
  std::optional<TestCertificate> tls;
};

// Runs on a thread of its own until it is destroyed.
class TestServer {
 public:
  // Answers on the server's thread.
  using Handler = std::function<TestReply(const TestRequest&)>;

  explicit TestServer(Handler handler, TestServerOptions options = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  uint16_t port() const;
  Url url(const std::string& target = "/") const;

  // Since the start.
  int64_t connections() const;
  int64_t requests() const;

  // What TLS clients offered of ALPN last: "h2,http/1.1".
  std::string alpn_offered() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A port of 127.0.0.1 where nothing listens.
uint16_t closed_port();

// A port of 127.0.0.1 that takes no further connection and does not refuse one either.
class DeafPort {
 public:
  DeafPort();
  ~DeafPort();
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;

  uint16_t port() const { return port_; }

 private:
  struct Sockets;
  std::unique_ptr<Sockets> sockets_;
  uint16_t port_ = 0;
};

}  // namespace windrow::http::testing
