// Connection: one client of a Server. Only the loop's thread touches it.
//
//   bytes -> Transport -> RequestParser -> handler -> out_ -> Transport -> bytes
//
// Invariants:
// * One request at a time is with a handler: handling_ is true from its call to the end of its
//   answer. What a client sends meanwhile waits in waiting_, at most kWaitingMax bytes.
// * A body in pieces is parsed only while somebody waits for a piece (taken_); each feed of the
//   parser makes one at most. body_open_ is true from its handler's call until its end is told.
// * While the socket is open, somebody will look at the connection again: it waits to become
//   readable or writable, or a handler owes it an answer; and the server's sweep sees to deadlines.
// * set_arriving() alone changes what the server counts as arriving, and close() takes it back.
// * After close() nothing touches the server, which may be gone.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "http/out_buffer.h"
#include "http/patience.h"
#include "http/server.h"
#include "http/transport.h"

namespace windrow::http {

// What a connection needs of its server.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;

  virtual const ServerOptions& options() const = 0;
  virtual const Routes<Handler>& routes() const = 0;
  virtual TimePoint now() const = 0;
  virtual std::string_view common_lines() const = 0;  // header lines of every reply
  virtual std::span<char> read_buffer() = 0;          // used up before the next read
  virtual Duration idle_time() const = 0;             // by how full the server is
  virtual bool stopping() const = 0;
  virtual std::unique_ptr<Transport> make_transport(boost::asio::ip::tcp::socket& socket) = 0;

  // Requests more or fewer on their way, and bytes of their bodies.
  virtual void count_arriving(int requests) = 0;
  virtual void count_arriving_bytes(int64_t bytes) = 0;
  virtual bool has_too_many_arriving_bytes() const = 0;

  // Bytes of answers that lie here more or fewer; whether there is room for any more, and for so
  // many of this connection, made where it can be by dropping others.
  virtual void count_unsent(int64_t bytes) = 0;
  virtual bool has_unsent_room() const = 0;
  virtual bool make_unsent_room(size_t bytes, const Connection& wanting) = 0;

  virtual void closed(const Connection& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Loop& loop, ConnectionHost& host);

  void begin();

  // What an exchange does; nothing when `serial` is not that of the request being handled.
  void send(uint64_t serial, ServerReply reply);
  void send(uint64_t serial, const PreparedReply& reply);
  void start(uint64_t serial, int status, const Headers& headers,
             std::optional<uint64_t> body_bytes);
  void write(uint64_t serial, std::string bytes);
  void finish(uint64_t serial);
  void reset(uint64_t serial);
  void on_disconnect(uint64_t serial, std::function<void()> gone);
  size_t unsent_bytes(uint64_t serial) const { return is_open(serial) ? out_.size() : 0; }
  bool make_room(uint64_t serial, size_t bytes);
  void on_drained(uint64_t serial, size_t threshold, std::function<void()> drained);
  void abandon(uint64_t serial);

  // What a RequestBody does.
  void next_piece(uint64_t serial, std::function<void(BodyPiece)> taken);

  // Whether something has taken too long, and what follows from that.
  bool is_overdue(TimePoint now) const;
  void end_overdue();

  // Closes at once who waits for nothing and sends nothing, and refuses what has come in part.
  void stop();

  // Closes, whatever goes on; a handler that owes an answer hears of it.
  void cut_off();

  // What its client has not taken, in memory, and since when it has taken nothing. drop(): it is
  // reset for that.
  size_t unsent_held() const { return out_.held_bytes(); }
  Duration unsent_quiet(TimePoint now) const { return now - wrote_at_; }
  const std::string& peer() const { return peer_; }
  void drop();

  Loop& loop() const { return loop_; }

  // Where the server keeps it.
  std::list<std::shared_ptr<Connection>>::iterator place;

 private:
  using ErrorCode = boost::system::error_code;

  // What sockets of a server have in common.
  void set_socket_options();

  bool is_open(uint64_t serial) const { return open_ && handling_ && serial == serial_; }
  bool resting() const { return !handling_ && !arriving_ && out_.empty() && waiting_.empty(); }

  void wait_readable();
  void wait_to_read(Transport::State state);
  void readable();
  void client_ended();
  void process(std::string_view bytes);
  std::string_view take_requests(std::string_view bytes);
  void go_on_when_sent();
  void wait_for_more(std::string_view left);
  void set_arriving(bool arriving);
  void count_body();
  bool judge_head();
  void look_at_head();
  void handle(bool body_follows = false);
  ServerRequest request(const Routes<Handler>::Found& found, std::string& body) const;

  // Lets others do something with the request: what they answer goes out when they have returned.
  template <class Task>
  void run(const Task& task) {
    const bool was_in_handler = std::exchange(in_handler_, true);
    try {
      task();
    } catch (const std::exception&) {
      // A defect of the handler ends its request, not the server: its exchange has answered 500.
    }
    in_handler_ = was_in_handler;
    if (!in_handler_ && open_ && !handling_) answered();
  }

  bool tell_piece(BodyPiece::State state);
  void break_body(int status, std::string_view message);
  ServerReply reply_without_handler(const std::string& allowed) const;
  ServerReply error_reply(int status, std::string_view message, bool handled = false) const;
  void refuse(int status, std::string_view message);
  void refuse(const ServerReply& reply);
  void append_head(std::string_view head);
  void append_reply(std::string_view head, std::string body);
  void append(std::string_view bytes);
  bool has_room_for(size_t bytes);
  bool is_full_of_answers() const;
  void count_unsent();
  ServerReply no_room_reply() const;
  void send_reply(uint64_t serial, ServerReply reply);
  void write_bytes(std::string bytes);

  // Where there is no memory for what a connection wants, it ends, and no other.
  template <class Task>
  void with_memory(const Task& task) {
    try {
      task();
    } catch (const std::bad_alloc&) {
      drop();
    }
  }
  void answered();
  void forget_calls();
  void flush();
  void wait_to_write(Transport::State state);
  void look_at_drain();
  void tell_drained();
  void all_sent();
  void close();

  boost::asio::ip::tcp::socket socket_;
  Loop& loop_;
  ConnectionHost& host_;
  std::unique_ptr<Transport> transport_;
  std::string peer_;
  bool open_ = true;

  RequestParser parser_;
  std::string waiting_;  // came, and was not parsed yet
  // Of it more can be answered once what was answered before has left.
  bool answers_are_full_ = false;
  bool go_on_posted_ = false;
  bool wait_read_ = false;
  bool arriving_ = false;    // a request has begun and is not complete
  size_t body_counted_ = 0;  // of its body, with the server
  bool judged_ = false;      // its head was found good enough to wait for its body
  TimePoint since_;          // the request's first byte, or the end of the last answer

  uint64_t serial_ = 0;  // of the request
  bool handling_ = false;
  bool in_handler_ = false;
  bool keep_alive_ = true;
  bool body_open_ = false;                // its body comes in pieces, and goes on
  std::function<void(BodyPiece)> taken_;  // who waits for one
  BodyPatience body_patience_;
  bool started_ = false;  // the answer is one in pieces
  bool chunked_ = false;
  std::optional<uint64_t> body_left_;  // of an answer in pieces that said how long it is
  std::function<void()> gone_;
  std::function<void()> drained_;
  size_t drained_threshold_ = 0;
  bool drain_posted_ = false;

  OutBuffer out_;
  size_t unsent_counted_ = 0;  // of it, with the server
  bool wait_write_ = false;
  TimePoint wrote_at_;  // the client took something, or had taken all before

  enum class End : uint8_t { kNone, kClose, kReset };
  End end_ = End::kNone;    // what comes when all is sent
  bool lingering_ = false;  // all is sent, and the client has been told; it may still be sending
  TimePoint heard_at_;      // then: when it last sent something
  bool unheard_ = false;    // it sent more than is answered: surely it goes on sending
};

}  // namespace windrow::http
