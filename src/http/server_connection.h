// Connection: one client of a Server, as a protocol state machine: reads requests, calls handlers,
// sends their answers, and ends. On the loop's thread only.
//
//   bytes -> Transport -> RequestParser -> handler -> ConnectionOutput -> Transport -> bytes
//
// Invariants:
// * One request at a time is with a handler: handling_ is true from its call to the end of its
//   answer. Bytes that the client sends before that wait in unparsed_, at most kUnparsedMax.
// * A body in pieces is parsed only while its handler waits for a piece (on_piece_); each feed of
//   the parser makes at most one. body_open_ is true from the handler's call until the last piece
//   was delivered.
// * While the socket is open, something will call the connection again: it waits to become readable
//   or writable, or a handler owes it an answer; and the server's sweep checks deadlines.
// * After close() the connection does not touch the server, which may be gone.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/server.h"
#include "http/server_core.h"
#include "http/server_limits.h"
#include "http/server_output.h"
#include "http/server_replies.h"
#include "http/transport.h"

namespace windrow::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `server` outlives the connection's close().
  Connection(boost::asio::ip::tcp::socket socket, ServerCore& server);

  // Begins to read.
  void begin();

  // --- for Exchange: without effect unless `serial` is that of the request being handled ---------

  void send(uint64_t serial, ServerReply reply);
  void send(uint64_t serial, const PreparedReply& reply);
  void start(uint64_t serial, int status, const Headers& headers,
             std::optional<uint64_t> body_bytes);
  void write(uint64_t serial, std::string bytes);
  void finish(uint64_t serial);
  void reset(uint64_t serial);
  void on_disconnect(uint64_t serial, std::function<void()> gone);
  size_t unsent_bytes(uint64_t serial) const { return is_open(serial) ? output_.size() : 0; }
  bool make_room(uint64_t serial, size_t bytes);
  void on_drained(uint64_t serial, size_t threshold, std::function<void()> drained);

  // The exchange was destroyed.
  void abandon(uint64_t serial);

  // For RequestBody::next.
  void next_piece(uint64_t serial, std::function<void(BodyPiece)> on_piece);

  // --- for ServerCore
  // -----------------------------------------------------------------------------

  // Whether something has taken too long. end_overdue() answers 408 where a request was arriving,
  // and closes otherwise.
  bool is_overdue(TimePoint now) const;
  void end_overdue();

  // The server stops: closes an idle connection at once and refuses a request that has not arrived
  // completely; an answer may still be given.
  void stop();

  // Closes in any state; a handler that owes an answer is told by on_disconnect.
  void cut_off();

  // Resets the connection because its client takes nothing.
  void drop();

  // Bytes in memory that the client has not taken, and for how long it has taken nothing.
  size_t unsent_held() const { return output_.held_bytes(); }
  Duration unsent_quiet(TimePoint now) const { return now - output_.progress_at(); }

  // The client's address.
  const std::string& peer() const { return peer_; }

  Loop& loop() const { return loop_; }

  // Its place in the server's list.
  std::list<std::shared_ptr<Connection>>::iterator position;

 private:
  using ErrorCode = boost::system::error_code;

  bool is_open(uint64_t serial) const { return open_ && handling_ && serial == serial_; }
  bool is_idle() const {
    return !handling_ && !arriving_.begun() && output_.empty() && unparsed_.empty();
  }

  void wait_readable();
  void wait_to_read(Transport::State state);
  void on_readable();
  void on_client_ended();
  void process(std::string_view bytes);
  std::string_view take_requests(std::string_view bytes);
  void process_when_sent();
  bool is_full_of_answers() const;
  void wait_for_more(std::string_view left);
  bool check_head();
  void begin_body();

  void handle(bool body_follows = false);
  ServerRequest request(const Routes<Handler>::Found& found, std::string& body) const;
  bool deliver_piece(BodyPiece::State state);
  void break_body(int status, std::string_view message);
  void request_ended();
  void forget_callbacks();

  // Calls a handler's code. What it answers is sent when it has returned.
  template <class Task>
  void run(const Task& task) {
    const bool was_in_handler = std::exchange(in_handler_, true);
    try {
      task();
    } catch (const std::exception&) {
      // A defect of the handler ends its request, not the server: its exchange has answered 500.
    }
    in_handler_ = was_in_handler;
    if (!in_handler_ && open_ && !handling_) request_ended();
  }

  // Runs `task`; where it runs out of memory, this connection ends and no other.
  template <class Task>
  void with_memory(const Task& task) {
    try {
      task();
    } catch (const std::bad_alloc&) {
      drop();
    }
  }

  void refuse(int status, std::string_view message) { refuse(refusals_.error(status, message)); }
  void refuse(const ServerReply& reply);
  void send_reply(uint64_t serial, ServerReply reply);
  void append_head(std::string_view head);
  void append_reply(std::string_view head, std::string body);
  void write_piece(std::string bytes);

  void flush();
  void wait_to_write(ConnectionOutput::Sent sent);
  void post_if_drained();
  void all_sent();
  void close();

  boost::asio::ip::tcp::socket socket_;
  ServerCore& server_;
  Loop& loop_;
  std::unique_ptr<Transport> transport_;
  const std::string peer_;
  bool open_ = true;

  RequestParser parser_;
  const RefusalReplies refusals_;
  std::string unparsed_;           // bytes that arrived and were not parsed yet
  bool answers_are_full_ = false;  // unparsed_ can go on once earlier answers are sent
  bool process_posted_ = false;
  bool waiting_to_read_ = false;
  ArrivingRequest arriving_;
  bool head_checked_ = false;  // by ServerOptions::at_head
  TimePoint since_;            // the request's first byte, or the end of the last answer

  uint64_t serial_ = 0;  // of the request
  bool handling_ = false;
  bool in_handler_ = false;
  bool keep_alive_ = true;
  bool body_open_ = false;
  std::function<void(BodyPiece)> on_piece_;
  BodyPatience body_patience_;
  BodyFraming framing_;  // begun: the answer comes in pieces
  std::function<void()> on_disconnect_;

  ConnectionOutput output_;
  bool waiting_to_write_ = false;
  bool drain_posted_ = false;

  enum class End : uint8_t { kNone, kClose, kReset };
  End end_ = End::kNone;     // what follows when all is sent
  bool has_unread_ = false;  // the client has sent more than was read, or surely goes on sending
  LingeringClose linger_;
};

}  // namespace windrow::http
