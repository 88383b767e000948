// Server: a small HTTP/1.1 server on a Loop: keep-alive, pipelining, replies at once or later, as a
// whole or in pieces. It is meant to stand in the open: everything a client may make it hold or
// wait for has a limit.
//
// Handlers run on the loop's thread, one for each request, and must not block there. A connection
// answers one request after the other; what a client sends meanwhile waits, in bounded buffers.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "http/headers.h"
#include "http/loop.h"
#include "http/request_parser.h"
#include "http/routes.h"
#include "http/tls_files.h"

namespace windrow::http {

class Connection;

// Good until the handler returns; the body may be moved out.
struct ServerRequest {
  std::string_view method;
  std::string_view path;
  std::string_view query;                   // without the question mark; not decoded
  std::span<const std::string_view> parts;  // of the path: what the braces of the route stand for
  std::string_view peer;                    // the client's address: "192.0.2.7"; no port
  const Headers& headers;
  std::string& body;
  bool gzip = false;  // it is packed, for a handler that takes such bodies
};

struct ServerReply {
  int status = 200;
  std::string_view content_type = "application/json";  // empty: none
  Headers headers;  // others than Content-Type, Content-Length, Date and what frames a message
  std::string body;
};

// A client that was dropped because it took nothing while others needed the room. Good until the
// call returns.
struct SlowReader {
  std::string_view peer;
  size_t unsent_bytes = 0;
  Duration quiet{};  // since it took something
};

// What the server answers itself: nothing takes it, or it cannot be read. Good until the call
// returns.
struct Refusal {
  int status = 0;
  std::string_view message;
  std::string_view method;  // these as far as they came
  std::string_view path;
  std::string_view peer;
  const Headers& headers;
  bool handled = false;  // a handler had it: it gave it up, or its body could not be read on
};

// A reply that is made once and sent often.
class PreparedReply {
 public:
  explicit PreparedReply(const ServerReply& reply);

 private:
  friend class Connection;

  std::string head_;
  std::string body_;
};

// Exchange: the way to answer one request. Every method may be called from any thread, though by
// one at a time; after the answer is complete, or the client gone, they do nothing. One that is
// destroyed unanswered answers 500, or resets the connection where an answer had begun. Must not
// outlive the loop.
class Exchange {
 public:
  Exchange(std::shared_ptr<Connection> connection, uint64_t serial);
  ~Exchange();
  Exchange(Exchange&& other) noexcept = default;
  Exchange& operator=(Exchange&&) = delete;

  // The whole answer.
  void send(ServerReply reply);
  void send(std::shared_ptr<const PreparedReply> reply);

  // The answer in pieces: start, write as often as one likes, finish. With `body_bytes` exactly so
  // many must be written; without, the body is chunked. Pieces that the client does not take
  // add up; above ServerOptions::unsent_bytes_max, or where the server has no room for them, the
  // connection is reset. A stream that may wait
  // for its reader looks at unsent_bytes() and on_drained() instead.
  void start(int status, Headers headers, std::optional<uint64_t> body_bytes = std::nullopt);
  void write(std::string bytes);
  void finish();

  // Breaks the connection off, as a server that dies does. What was written before may arrive.
  void reset();

  // Calls `gone` on the loop's thread, once, when the client closes the connection (also its half
  // of it: nobody who asks for an answer hangs up) before the answer is complete; at once when it
  // has already. Not after finish().
  void on_disconnect(std::function<void()> gone);

  // Whether the server has room for an answer, or for so much more of one: it makes some by
  // dropping clients that take nothing (ServerOptions::unsent_bytes_of_all_max). Where it says no,
  // send() answers 503 instead. Only on the loop's thread.
  bool make_room(size_t bytes) const;

  // What was written and waits here because the client does not take it. The system holds some
  // more, at most kUnsentInSystem beyond what is on its way. Only on the loop's thread.
  size_t unsent_bytes() const;

  // Calls `drained` on the loop's thread, once, when unsent_bytes() is `threshold` or less; never
  // out of this call or another of these, also when it is so already. A later call replaces an
  // earlier one. Not after finish(), and not when the client is gone: that is on_disconnect().
  void on_drained(size_t threshold, std::function<void()> drained);

 private:
  template <class Task>
  void on_loop(Task task);

  std::shared_ptr<Connection> connection_;
  uint64_t serial_ = 0;
};

// The next bytes of a body that comes in pieces.
struct BodyPiece {
  enum class State : uint8_t {
    kMore,    // and there is more to come
    kEnd,     // and that was all
    kBroken,  // the rest will not come, and no answer can be given any more
  };
  State state = State::kMore;
  std::string bytes;  // of kMore at least one; kBroken has none
  int status = 0;     // of kBroken: what the server answered by itself (400, 408, 503); 0: nobody
                      // waits for an answer any more
};

// RequestBody: the body of a request whose handler was called at its head. The client is read no
// faster than pieces are asked for, but for 128 KiB. Any thread, by one at a time. Who answers
// before the end leaves the rest unread: the connection ends with that answer, which is read by
// the client all the same. Must not outlive the loop.
class RequestBody {
 public:
  RequestBody(std::shared_ptr<Connection> connection, uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}

  // Calls `taken` on the loop's thread, once, with what there is next; it may call next() itself.
  // After kEnd and kBroken there is no next. It is dropped uncalled when the answer is complete.
  void next(std::function<void(BodyPiece)> taken);

 private:
  std::shared_ptr<Connection> connection_;
  uint64_t serial_ = 0;
};

// What answers a route: a function that is called when the request has come as a whole, or one that
// is called when its head has come and reads the body itself, however long that is.
class Handler {
 public:
  using Whole = std::function<void(const ServerRequest&, Exchange)>;
  using InPieces = std::function<void(const ServerRequest&, Exchange, RequestBody)>;

  template <class Function>
    requires std::invocable<Function&, const ServerRequest&, Exchange>
  explicit(false) Handler(Function whole) : whole_(std::move(whole)) {}
  static Handler in_pieces(InPieces handler) { return Handler(std::move(handler), 0); }

  // Makes the handler take bodies that are packed by gzip. Without this they are refused with 415.
  Handler taking_gzip() && {
    takes_gzip_ = true;
    return std::move(*this);
  }
  bool takes_gzip() const { return takes_gzip_; }

  // Null: it is of the other kind.
  const Whole& whole() const { return whole_; }
  const InPieces& pieces() const { return pieces_; }

 private:
  Handler(InPieces pieces, int) : pieces_(std::move(pieces)) {}

  Whole whole_;
  InPieces pieces_;
  bool takes_gzip_ = false;
};

// A body of so many bytes is read without asking anybody.
constexpr size_t kBodyUnasked = size_t{16} * 1024;

// How much of what was written the system may take before the client is ready for it. What a slow
// reader leaves lying is to be seen here, not hidden in buffers of megabytes.
constexpr size_t kUnsentInSystem = size_t{64} * 1024;

struct ServerOptions {
  std::string address = "127.0.0.1";  // an address, or "localhost"
  uint16_t port = 0;                  // 0: any that is free
  std::optional<TlsFiles> tls;        // nothing: plain HTTP

  RequestLimits request;
  // From its first byte to its last; TLS alike. A body in pieces: patience.h.
  Duration request_time = std::chrono::seconds(30);
  Duration idle_time = std::chrono::seconds(75);       // between two requests; less: patience.h
  Duration write_time = std::chrono::seconds(30);      // without the client taking a byte
  size_t connections_max = 8192;                       // more wait to be accepted
  size_t unsent_bytes_max = size_t{64} * 1024 * 1024;  // of an answer in pieces
  // Of all connections together: what was answered and lies here because clients do not take it.
  // Where there is no room for more, the client that holds most of it and has taken nothing for a
  // second is dropped; where there is none, answers of more than 256 KiB become a 503.
  size_t unsent_bytes_of_all_max = size_t{1024} * 1024 * 1024;
  size_t arriving_bytes_max = size_t{1024} * 1024 * 1024;  // of all bodies not complete yet: 503

  // Empty: plain text. On the loop's thread.
  std::function<ServerReply(const Refusal& refusal)> make_error;

  // Told of each client that is dropped for the room it takes; may be empty. On the loop's thread.
  std::function<void(const SlowReader& reader)> on_slow_reader;

  // Whether a body of more than kBodyUnasked, or one whose client asks first (Expect), may come:
  // called when the head is there, its body empty. A reply refuses it: it is sent, nothing more is
  // read and the connection ends. Not for those that have no route, which are refused then, nor for
  // bodies in pieces, whose handler decides. On the loop's thread. Empty: all may.
  std::function<std::optional<ServerReply>(const ServerRequest& head)> at_head;

  // Answers OPTIONS where no route does, for every path, also "*". Empty: 405 or 404.
  Handler::Whole on_options;

  // On every reply, also refusals; and those that depend on what was asked (its header fields as
  // far as they came). On the loop's thread.
  Headers headers_of_all;
  std::function<void(const Headers& request, Headers& reply)> more_headers;
};

class Server {
 public:
  // Listens from now on. `loop` must outlive the server. kInvalid for what is no address or header,
  // or cannot be used for TLS; kNotFound for a file that is not there; kConflict when the port is
  // taken; kIo for what else the system refuses.
  static Result<std::unique_ptr<Server>> open(Loop& loop, ServerOptions options,
                                              Routes<Handler> routes);

  // As stop(Duration{}). Not on the loop's thread.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

  // How many are open. Any thread.
  size_t connections() const;

  // How many requests have begun to arrive and are not complete: not with a handler (one that takes
  // the body in pieces has it from the head on), not refused, not given up. What a client sends
  // behind a request that is being answered does not count. Any thread; costs a load.
  size_t arriving() const;

  // What was answered and lies here because clients do not take it, and how many clients were
  // dropped because they took nothing. Any thread; costs a load.
  size_t unsent_bytes() const;
  int64_t slow_readers_dropped() const;

  // Accepts nobody any more and lets requests that are with a handler end, each connection's last
  // answer saying so; what has not come completely is answered 503. Those still there after `grace`
  // are cut off. Blocks until then; not on the loop's thread.
  void stop(Duration grace);

 private:
  class Core;

  explicit Server(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace windrow::http
