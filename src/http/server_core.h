// ServerCore: what the connections of one Server share: its options and routes, the counts of what
// they hold together, and the decision whom to drop when memory is short. On the loop's thread,
// where nothing else is said. Implemented in server.cc.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/server.h"
#include "http/server_limits.h"
#include "http/tls_transport.h"
#include "http/transport.h"

namespace windrow::http {

class Connection;

class ServerCore {
 public:
  ServerCore(Loop& loop, ServerOptions options, Routes<Handler> routes);

  // Errors as Server::open.
  Result<void> listen();

  // Begins Server::stop(). wait_stopped() blocks until it is done, on another thread.
  void begin_stop(Duration grace);
  void wait_stopped();

  // For connections that begin from now on.
  void use_tls(std::shared_ptr<TlsContext> tls) { tls_ = std::move(tls); }

  // Any thread.
  Loop& loop() const { return loop_; }
  uint16_t port() const { return port_; }
  size_t connection_count() const { return count_; }
  size_t arriving() const { return arriving_.load(std::memory_order_relaxed); }
  size_t unsent_bytes() const { return unsent_now_.load(std::memory_order_relaxed); }
  int64_t slow_readers_dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // --- for connections --------------------------------------------------------------------------

  const ServerOptions& options() const { return options_; }
  const Routes<Handler>& routes() const { return routes_; }
  TimePoint now() const { return loop_.clock().now(); }
  bool stopping() const { return stopping_; }

  // Header lines of every reply.
  std::string_view common_lines() const { return common_lines_; }

  // One buffer for all connections; each uses up what it reads before it returns.
  std::span<char> read_buffer() { return buffer_; }

  // How long a connection may be idle, by how full the server is.
  Duration idle_time() const;

  std::unique_ptr<Transport> make_transport(boost::asio::ip::tcp::socket& socket);

  // Requests more or fewer that have begun to arrive, and bytes of their bodies.
  void count_arriving(int requests);
  void count_arriving_bytes(int64_t bytes);
  bool has_too_many_arriving_bytes() const;

  // Bytes of unsent answers more or fewer; whether there is room for any more.
  void count_unsent(int64_t bytes);
  bool has_unsent_room() const { return !unsent_.is_full(); }

  // Makes room for `bytes` by dropping slow readers other than `wanting`. False: there is none.
  bool make_unsent_room(size_t bytes, const Connection& wanting);

  // The connection is closed; the server lets go of it.
  void closed(const Connection& connection);

 private:
  bool drop_slow_reader(const Connection& wanting);
  void accept();
  void accepted(const boost::system::error_code& error, boost::asio::ip::tcp::socket socket);
  void sweep();
  void cut_off_all();
  void notify_stopped();

  Loop& loop_;
  const ServerOptions options_;
  const Routes<Handler> routes_;
  std::vector<char> buffer_;
  boost::asio::ip::tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  // Held weakly by a pending accept, which ends after the acceptor is closed, maybe after this.
  std::shared_ptr<ServerCore*> self_ = std::make_shared<ServerCore*>(this);
  bool accepting_ = false;
  Timer sweep_;
  Timer grace_;
  std::shared_ptr<TlsContext> tls_;  // null: plain HTTP
  std::string common_lines_;
  std::list<std::shared_ptr<Connection>> connections_;
  std::atomic<size_t> count_ = 0;
  std::atomic<size_t> arriving_ = 0;
  size_t arriving_bytes_ = 0;
  UnsentBudget unsent_;
  std::atomic<size_t> unsent_now_ = 0;  // unsent_.bytes(), for other threads
  std::atomic<int64_t> dropped_ = 0;
  std::optional<TimePoint> no_slow_reader_at_;  // no client could be dropped then
  bool stopping_ = false;

  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
};

// The part that one connection has in the server's counts of what is arriving. Whatever it counted
// is taken back by end().
class ArrivingRequest {
 public:
  explicit ArrivingRequest(ServerCore& server) : server_(server) {}

  // Whether a request has begun to arrive and is not complete.
  bool begun() const { return begun_; }

  // True when it had not begun before.
  bool begin() {
    if (begun_) return false;
    begun_ = true;
    server_.count_arriving(1);
    return true;
  }

  // So many bytes of its body are here.
  void count_body(size_t bytes) {
    server_.count_arriving_bytes(static_cast<int64_t>(bytes - body_bytes_));
    body_bytes_ = bytes;
  }
  size_t body_bytes() const { return body_bytes_; }

  // It is complete, or given up.
  void end() {
    if (!begun_) return;
    begun_ = false;
    server_.count_arriving(-1);
    server_.count_arriving_bytes(-static_cast<int64_t>(body_bytes_));
    body_bytes_ = 0;
  }

 private:
  ServerCore& server_;
  bool begun_ = false;
  size_t body_bytes_ = 0;
};

}  // namespace windrow::http
