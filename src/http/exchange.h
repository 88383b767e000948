// What a handler of an HTTP server sees: the request, the Exchange that answers it, and the
// RequestBody that reads a long body piece by piece.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "http/headers.h"

namespace windrow::http {

class Connection;

// Valid until the handler returns. The body may be moved out.
struct ServerRequest {
  std::string_view method;
  std::string_view path;
  std::string_view query;                   // without the question mark; not decoded
  std::span<const std::string_view> parts;  // of the path: the values of the braces of its route
  std::string_view peer;                    // the client's address without a port: "192.0.2.7"
  const Headers& headers;
  std::string& body;
  bool gzip = false;  // the body is packed; only for handlers that take such bodies
};

struct ServerReply {
  int status = 200;
  std::string_view content_type = "application/json";  // empty: none
  Headers headers;  // besides Content-Type, Content-Length, Date and those that frame a message
  std::string body;
};

// A reply that is made once and sent often. Immutable; any thread.
class PreparedReply {
 public:
  explicit PreparedReply(const ServerReply& reply);

 private:
  friend class Connection;

  std::string head_;
  std::string body_;
};

// Answers one request. Every method may be called from any thread, though from one at a time, where
// nothing else is said. None blocks. After the answer is complete, or the client gone, they do
// nothing. An exchange that is destroyed unanswered answers 500, or resets the connection where an
// answer had begun. Must not outlive the loop.
class Exchange {
 public:
  Exchange(std::shared_ptr<Connection> connection, uint64_t serial);
  ~Exchange();
  Exchange(Exchange&& other) noexcept = default;
  Exchange& operator=(Exchange&&) = delete;

  // Sends the whole answer.
  void send(ServerReply reply);
  void send(std::shared_ptr<const PreparedReply> reply);

  // An answer in pieces: start() once, write() any number of times, finish(). With `body_bytes`
  // exactly that many must be written; without, the body is chunked. Pieces that the client does
  // not take add up; above ServerOptions::unsent_bytes_max, or where the server has no room for
  // them, the connection is reset. A stream that can wait for its reader uses unsent_bytes() and
  // on_drained() instead.
  void start(int status, Headers headers, std::optional<uint64_t> body_bytes = std::nullopt);
  void write(std::string bytes);
  void finish();

  // Breaks the connection off, as a server that dies does. Bytes written before may still arrive.
  void reset();

  // Calls `gone` on the loop's thread, once, when the client closes the connection or its sending
  // half of it before the answer is complete; at once when it has already. Not after finish().
  void on_disconnect(std::function<void()> gone);

  // Whether the server has room for an answer, or for that many more bytes of one: it makes room by
  // dropping clients that take nothing (ServerOptions::unsent_bytes_of_all_max). Where this is
  // false, send() answers 503 instead. Only on the loop's thread.
  bool make_room(size_t bytes) const;

  // Bytes that were written and wait here because the client does not take them. The system holds
  // some more, at most kUnsentInSystem beyond what is on its way. Only on the loop's thread.
  size_t unsent_bytes() const;

  // Calls `drained` on the loop's thread, once, when unsent_bytes() is `threshold` or less; never
  // from within this call or a write, even if it is so already. A later call replaces an earlier
  // one. Not after finish(), and not when the client is gone: that is on_disconnect().
  void on_drained(size_t threshold, std::function<void()> drained);

 private:
  template <class Task>
  void on_loop(Task task);

  std::shared_ptr<Connection> connection_;
  uint64_t serial_ = 0;
};

// The next bytes of a body that is read in pieces.
struct BodyPiece {
  enum class State : uint8_t {
    kMore,    // and there is more to come
    kEnd,     // the last bytes, maybe none
    kBroken,  // the body cannot be read to its end, and no answer can be given
  };
  State state = State::kMore;
  std::string bytes;  // kMore: at least one; kBroken: none
  int status = 0;     // kBroken: the status that the server answered (400, 408, 503); 0: none
};

// The body of a request whose handler was called at its head. The client is read no faster than
// pieces are asked for, but for 128 KiB. Any thread, from one at a time. A handler that answers
// before the end leaves the remaining bytes unread: the connection then ends with that answer, and
// the client still receives it. Must not outlive the loop.
class RequestBody {
 public:
  RequestBody(std::shared_ptr<Connection> connection, uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}

  // Calls `on_piece` on the loop's thread, once, with the next bytes; it may call next() itself.
  // Not to be called after kEnd or kBroken. `on_piece` is dropped uncalled when the answer is
  // complete.
  void next(std::function<void(BodyPiece)> on_piece);

 private:
  std::shared_ptr<Connection> connection_;
  uint64_t serial_ = 0;
};

// What answers a route: a function that is called when the whole request has arrived, or one that
// is called when its head has arrived and reads the body itself, however long that is. Both are
// called on the loop's thread and must not block.
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

}  // namespace windrow::http
