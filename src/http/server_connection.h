// Connection: one client of a Server. Only the loop's thread touches it.
//
//   bytes -> RequestParser -> handler -> out_ -> bytes
//
// Invariants:
// * One request at a time is with a handler: handling_ is true from its call to the end of its
//   answer. What a client sends meanwhile waits in waiting_, at most kWaitingMax bytes.
// * While the socket is open, somebody will look at the connection again: it waits to become
//   readable or writable, or a handler owes it an answer; and the server's sweep sees to deadlines.
// * After close() nothing touches the server, which may be gone.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/server.h"

namespace windrow::http {

// What a connection needs of its server.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;

  virtual const ServerOptions& options() const = 0;
  virtual const Routes<Handler>& routes() const = 0;
  virtual TimePoint now() const = 0;
  virtual std::string_view date() const = 0;  // for the header of that name
  virtual std::span<char> read_buffer() = 0;  // used up before the next read
  virtual bool stopping() const = 0;
  virtual void closed(const Connection& connection) = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Loop& loop, ConnectionHost& host);

  void begin();

  // What an exchange does; nothing when `serial` is not that of the request being handled.
  void send(uint64_t serial, const ServerReply& reply);
  void send(uint64_t serial, const PreparedReply& reply);
  void start(uint64_t serial, int status, const Headers& headers,
             std::optional<uint64_t> body_bytes);
  void write(uint64_t serial, std::string_view bytes);
  void finish(uint64_t serial);
  void reset(uint64_t serial);
  void on_disconnect(uint64_t serial, std::function<void()> gone);
  void abandon(uint64_t serial);

  // Whether something has taken too long, and what follows from that.
  bool is_overdue(TimePoint now) const;
  void end_overdue();

  // Closes at once what waits for a request only.
  void stop();

  // Closes, whatever goes on; a handler that owes an answer hears of it.
  void cut_off();

  Loop& loop() const { return loop_; }

  // Where the server keeps it.
  std::list<std::shared_ptr<Connection>>::iterator place;

 private:
  using ErrorCode = boost::system::error_code;

  bool is_open(uint64_t serial) const { return open_ && handling_ && serial == serial_; }
  bool unsent() const { return sent_ < out_.size(); }
  bool resting() const { return !handling_ && !request_begun_ && !unsent() && waiting_.empty(); }

  void wait_readable();
  void readable();
  void process(std::string_view bytes);
  std::string_view take_requests(std::string_view bytes);
  void handle();
  void refuse(int status, std::string_view message);
  ServerReply error_reply(int status, std::string_view message) const;
  void append_head(std::string_view head);
  void append_reply(std::string_view head, std::string_view body);
  void answered();
  void flush();
  void wait_writable();
  void drained();
  void close();

  boost::asio::ip::tcp::socket socket_;
  Loop& loop_;
  ConnectionHost& host_;
  bool open_ = true;

  RequestParser parser_;
  std::string waiting_;  // came, and was not parsed yet
  bool wait_read_ = false;
  bool request_begun_ = false;
  TimePoint since_;  // the request's first byte, or the end of the last answer

  uint64_t serial_ = 0;  // of the request
  bool handling_ = false;
  bool in_handler_ = false;
  bool keep_alive_ = true;
  bool started_ = false;  // the answer is one in pieces
  bool chunked_ = false;
  std::optional<uint64_t> body_left_;  // of an answer in pieces that said how long it is
  std::function<void()> gone_;

  std::string out_;
  size_t sent_ = 0;
  bool wait_write_ = false;
  TimePoint wrote_at_;  // the client took something, or had taken all before

  enum class End : uint8_t { kNone, kClose, kReset };
  End end_ = End::kNone;    // what comes when all is sent
  bool lingering_ = false;  // all is sent, and the client has been told; it may still be sending
};

// "HTTP/1.1 200 OK\r\n" and the headers, without the empty line. A header whose name or value
// cannot stand in a message makes it a 500.
std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       std::optional<uint64_t> body_bytes);

}  // namespace windrow::http
