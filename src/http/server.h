// Server: a small HTTP/1.1 server on a Loop: keep-alive, pipelining, replies at once or later,
// whole or in pieces. It is meant to face the open network: everything that a client may make it
// hold or wait for has a limit.
//
// Handlers run on the loop's thread, one for each request, and must not block there. A connection
// answers one request after the other; bytes that a client sends before its answer is complete wait
// in bounded buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/exchange.h"
#include "http/headers.h"
#include "http/loop.h"
#include "http/request_parser.h"
#include "http/routes.h"

namespace windrow::http {

// Certificate and key, both PEM, read when the server is opened and by Server::reload_tls. The
// certificate file begins with the server's own certificate, followed by those of its issuers, as
// certificate authorities deliver them. The key must not be encrypted.
struct TlsFiles {
  std::string certificate_file;
  std::string key_file;
};

// A client that was dropped because it took nothing while others needed the room. Valid until the
// call returns.
struct SlowReader {
  std::string_view peer;
  size_t unsent_bytes = 0;
  Duration quiet{};  // since it took something
};

// A request that the server answers itself: no handler takes it, or it cannot be read. Valid until
// the call returns.
struct Refusal {
  int status = 0;
  std::string_view message;
  std::string_view method;  // these as far as they arrived
  std::string_view path;
  std::string_view peer;
  const Headers& headers;
  bool handled = false;  // a handler had it and gave it up, or its body could not be read on
};

// A body of up to so many bytes is read without asking ServerOptions::at_head.
constexpr size_t kBodyUnasked = size_t{16} * 1024;

// How much the system may take before the client is ready for it: bytes that a slow reader leaves
// should be visible here, not hidden in socket buffers of megabytes.
constexpr size_t kUnsentInSystem = size_t{64} * 1024;

// All functions are called on the loop's thread and must not block.
struct ServerOptions {
  std::string address = "127.0.0.1";  // an address, or "localhost"
  uint16_t port = 0;                  // 0: any that is free
  std::optional<TlsFiles> tls;        // absent: plain HTTP

  // How long and how large things may be; server_limits.h has the rules.
  RequestLimits request;
  Duration request_time = std::chrono::seconds(30);    // from a request's first byte to its last
  Duration idle_time = std::chrono::seconds(75);       // between two requests; less when crowded
  Duration write_time = std::chrono::seconds(30);      // without the client taking a byte
  size_t connections_max = 8192;                       // further clients wait to be accepted
  size_t unsent_bytes_max = size_t{64} * 1024 * 1024;  // of one answer in pieces

  // Answers of all connections that clients have not taken yet. Without room for more, the client
  // that holds most of it and has taken nothing for a second is dropped; where there is none,
  // answers of more than 256 KiB become a 503.
  size_t unsent_bytes_of_all_max = size_t{1024} * 1024 * 1024;

  // Bodies of all connections that have not arrived completely; beyond it requests get a 503.
  size_t arriving_bytes_max = size_t{1024} * 1024 * 1024;

  // Makes the reply to a request that the server refuses. Empty: plain text.
  std::function<ServerReply(const Refusal& refusal)> make_error;

  // Called for each client that is dropped for the memory it takes. May be empty.
  std::function<void(const SlowReader& reader)> on_slow_reader;

  // Whether a body of more than kBodyUnasked, or one that the client announces with Expect, may
  // come: called with the head, its body empty. A reply refuses it: the reply is sent, nothing more
  // is read and the connection ends. Not called for paths without a route, which are refused, nor
  // for bodies in pieces, where the handler decides. Empty: every body may come.
  std::function<std::optional<ServerReply>(const ServerRequest& head)> at_head;

  // Answers OPTIONS where no route does, for every path, also "*". Empty: 405 or 404.
  Handler::Whole on_options;

  // Headers of every reply, refusals included; and those that depend on the request's headers, as
  // far as these arrived.
  Headers headers_of_all;
  std::function<void(const Headers& request, Headers& reply)> more_headers;
};

class ServerCore;

class Server {
 public:
  // Listens from now on. `loop` must outlive the server. kInvalid: no address, no valid header, or
  // files that cannot be used for TLS; kNotFound: a file is missing; kConflict: the port is taken;
  // kIo: whatever else the system refuses.
  static Result<std::unique_ptr<Server>> open(Loop& loop, ServerOptions options,
                                              Routes<Handler> routes);

  // As stop(Duration{}). Not on the loop's thread.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

  // Open connections. Any thread.
  size_t connections() const;

  // Requests that have begun to arrive and are not complete: not yet with a handler (one that reads
  // its body in pieces has it from the head on), not refused, not given up. Bytes that a client
  // sends behind a request that is being answered do not count. Any thread; costs a load.
  size_t arriving() const;

  // Bytes of answers that clients have not taken yet, and how many clients were dropped because
  // they took nothing. Any thread; costs a load.
  size_t unsent_bytes() const;
  int64_t slow_readers_dropped() const;

  // Reads the files of ServerOptions::tls again; connections that begin from now on use what they
  // hold. Errors as TlsContext::load: then the server goes on with what it has. Without TLS there
  // is nothing to read. Blocks; any thread but the loop's.
  Result<void> reload_tls();

  // Accepts no more connections and lets requests that are with a handler end, each connection's
  // last answer saying so; requests that have not arrived completely are answered 503. Connections
  // that are left after `grace` are cut off. Blocks until then; not on the loop's thread.
  void stop(Duration grace);

 private:
  explicit Server(std::unique_ptr<ServerCore> core);

  std::unique_ptr<ServerCore> core_;
};

}  // namespace windrow::http
