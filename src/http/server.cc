#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "http/date.h"
#include "http/patience.h"
#include "http/reply_head.h"
#include "http/server_connection.h"
#include "http/tls_transport.h"
#include "http/unsent_room.h"

namespace windrow::http {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

constexpr size_t kReadBytes = size_t{64} * 1024;

// How often deadlines are looked at: they are kept to within this.
constexpr Duration kSweep = std::chrono::milliseconds(250);

constexpr int kBacklog = 4096;

// Where nobody could be dropped, all are looked at again after this: a full server is asked for
// room by everybody who writes.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);

}  // namespace

// Only the loop's thread touches it, where nothing else is said.
class Server::Core final : public ConnectionHost {
 public:
  Core(Loop& loop, ServerOptions options, Routes<Handler> routes)
      : loop_(loop),
        options_(std::move(options)),
        routes_(std::move(routes)),
        buffer_(kReadBytes),
        acceptor_(loop.context()),
        sweep_(loop),
        grace_(loop),
        unsent_(options_.unsent_bytes_of_all_max) {}

  Loop& loop() const { return loop_; }

  Result<void> listen();

  uint16_t port() const { return port_; }
  size_t connection_count() const { return count_; }                             // any thread
  size_t arriving() const { return arriving_.load(std::memory_order_relaxed); }  // any thread

  void begin_stop(Duration grace);
  void wait_stopped();  // another thread

  const ServerOptions& options() const override { return options_; }
  const Routes<Handler>& routes() const override { return routes_; }
  TimePoint now() const override { return loop_.clock().now(); }
  std::string_view common_lines() const override { return common_lines_; }
  std::span<char> read_buffer() override { return buffer_; }
  Duration idle_time() const override {
    return idle_allowed(options_.idle_time, connections_.size(), options_.connections_max);
  }
  bool stopping() const override { return stopping_; }
  std::unique_ptr<Transport> make_transport(tcp::socket& socket) override;
  void count_arriving(int requests) override {
    arriving_.fetch_add(static_cast<size_t>(requests), std::memory_order_relaxed);
  }
  void count_arriving_bytes(int64_t bytes) override {
    arriving_bytes_ += static_cast<size_t>(bytes);
  }
  bool has_too_many_arriving_bytes() const override {
    return arriving_bytes_ > options_.arriving_bytes_max;
  }
  void count_unsent(int64_t bytes) override;
  bool has_unsent_room() const override { return !unsent_.is_full(); }
  bool make_unsent_room(size_t bytes, const Connection& wanting) override;
  void closed(const Connection& connection) override;

  size_t unsent_bytes() const { return unsent_now_.load(std::memory_order_relaxed); }  // any thread
  int64_t slow_readers_dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  bool drop_slow_reader(const Connection& wanting);
  void accept();
  void accepted(const boost::system::error_code& error, tcp::socket socket);
  void sweep();
  void cut_off_all();
  void tell_stopped();

  Loop& loop_;
  const ServerOptions options_;
  const Routes<Handler> routes_;
  std::vector<char> buffer_;
  tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  // What a pending accept holds on to: it ends after the acceptor is closed, maybe after us.
  std::shared_ptr<Core*> self_ = std::make_shared<Core*>(this);
  bool accepting_ = false;
  Timer sweep_;
  Timer grace_;
  std::shared_ptr<TlsContext> tls_;  // nothing: plain
  std::string common_lines_;
  std::list<std::shared_ptr<Connection>> connections_;
  std::atomic<size_t> count_ = 0;
  std::atomic<size_t> arriving_ = 0;
  size_t arriving_bytes_ = 0;
  UnsentRoom unsent_;
  std::atomic<size_t> unsent_now_ = 0;  // the same, for other threads
  std::atomic<int64_t> dropped_ = 0;
  std::optional<TimePoint> none_is_slow_at_;  // nobody could be dropped then
  bool stopping_ = false;

  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopped_ = false;
};

Result<void> Server::Core::listen() {
  if (!are_writable(options_.headers_of_all)) {
    return Error{ErrorKind::kInvalid,
                 "a header for all replies has a line end or another byte that no header may have"};
  }
  if (options_.tls) {
    Result<std::shared_ptr<TlsContext>> tls = TlsContext::load(*options_.tls);
    if (!tls) return tls.error();
    tls_ = *std::move(tls);
  }
  boost::system::error_code error;
  const std::string& text = options_.address;
  const asio::ip::address address = text == "localhost"
                                        ? asio::ip::address(asio::ip::address_v4::loopback())
                                        : asio::ip::make_address(text, error);
  if (error) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("\"{}\" is no address to listen at; give one such as 127.0.0.1, or "
                             "0.0.0.0 for all of this machine",
                             text)};
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) {
    const bool taken = error == asio::error::address_in_use;
    return Error{taken ? ErrorKind::kConflict : ErrorKind::kIo,
                 fmt::format("cannot listen at {} port {}: {}{}", text, options_.port,
                             error.message(), taken ? "; choose another port" : "")};
  }
  port_ = acceptor_.local_endpoint().port();
  sweep();
  accept();
  return {};
}

std::unique_ptr<Transport> Server::Core::make_transport(tcp::socket& socket) {
  if (tls_) return tls_->serve(socket);
  return std::make_unique<PlainTransport>(socket);
}

void Server::Core::accept() {
  if (accepting_ || stopping_ || connections_.size() >= options_.connections_max) return;
  accepting_ = true;
  acceptor_.async_accept(
      [self = std::weak_ptr(self_)](const boost::system::error_code& error, tcp::socket socket) {
        if (const auto core = self.lock()) (*core)->accepted(error, std::move(socket));
      });
}

void Server::Core::accepted(const boost::system::error_code& error, tcp::socket socket) {
  accepting_ = false;
  if (stopping_) return;
  if (!error) {
    auto connection = std::make_shared<Connection>(std::move(socket), loop_, *this);
    connections_.push_front(connection);
    connection->place = connections_.begin();
    ++count_;
    connection->begin();
  } else if (error != asio::error::connection_aborted) {
    return;  // no descriptors left, most likely: the sweep tries again
  }
  accept();
}

void Server::Core::closed(const Connection& connection) {
  connections_.erase(connection.place);
  --count_;
  if (stopping_) {
    if (connections_.empty()) tell_stopped();
  } else {
    accept();
  }
}

void Server::Core::count_unsent(int64_t bytes) {
  unsent_.count(bytes);
  unsent_now_.store(unsent_.bytes(), std::memory_order_relaxed);
}

bool Server::Core::make_unsent_room(size_t bytes, const Connection& wanting) {
  while (!unsent_.has_room(bytes)) {
    // More than would be there if all were dropped.
    if (bytes > options_.unsent_bytes_of_all_max || !drop_slow_reader(wanting)) return false;
  }
  return true;
}

// False: nobody is slow enough.
bool Server::Core::drop_slow_reader(const Connection& wanting) {
  const TimePoint time = now();
  if (none_is_slow_at_ && time - *none_is_slow_at_ < kLookAgain) return false;
  std::vector<UnsentOf> held;
  std::vector<std::shared_ptr<Connection>> whose;
  for (const std::shared_ptr<Connection>& connection : connections_) {
    if (connection.get() == &wanting || connection->unsent_held() == 0) continue;
    held.push_back({.bytes = connection->unsent_held(), .quiet = connection->unsent_quiet(time)});
    whose.push_back(connection);
  }
  const std::optional<size_t> slowest = slowest_reader(held);
  none_is_slow_at_ = slowest ? std::nullopt : std::optional(time);
  if (!slowest) return false;
  ++dropped_;
  if (options_.on_slow_reader) {
    options_.on_slow_reader({.peer = whose[*slowest]->peer(),
                             .unsent_bytes = held[*slowest].bytes,
                             .quiet = held[*slowest].quiet});
  }
  whose[*slowest]->drop();
  return true;
}

void Server::Core::sweep() {
  // First, so that it goes on where memory ends in what follows.
  sweep_.wake_at(now() + kSweep, [this] { sweep(); });
  common_lines_ = fmt::format("Date: {}\r\n{}", http_date(loop_.clock().unix_seconds()),
                              header_lines(options_.headers_of_all));
  const TimePoint time = now();
  std::vector<std::shared_ptr<Connection>> overdue;
  std::ranges::copy_if(connections_, std::back_inserter(overdue),
                       [&](const auto& connection) { return connection->is_overdue(time); });
  for (const std::shared_ptr<Connection>& connection : overdue)
    connection->end_overdue();
  accept();
}

void Server::Core::begin_stop(Duration grace) {
  if (!stopping_) {
    stopping_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    const std::list<std::shared_ptr<Connection>> all = connections_;
    for (const std::shared_ptr<Connection>& connection : all)
      connection->stop();
    if (connections_.empty()) return tell_stopped();
  }
  if (grace <= Duration::zero()) return cut_off_all();
  grace_.wake_at(now() + grace, [this] { cut_off_all(); });
}

void Server::Core::cut_off_all() {
  const std::list<std::shared_ptr<Connection>> all = connections_;
  for (const std::shared_ptr<Connection>& connection : all)
    connection->cut_off();
}

void Server::Core::tell_stopped() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  stopped_changed_.notify_all();
}

void Server::Core::wait_stopped() {
  std::unique_lock lock(mutex_);
  stopped_changed_.wait(lock, [&] { return stopped_; });
}

Result<std::unique_ptr<Server>> Server::open(Loop& loop, ServerOptions options,
                                             Routes<Handler> routes) {
  auto core = std::make_unique<Core>(loop, std::move(options), std::move(routes));
  Result<void> listening;
  loop.run([&] {
    listening = core->listen();
    if (!listening) core.reset();  // on its loop
  });
  if (!listening) return listening.error();
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::Server(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Server::~Server() {
  stop(Duration{});
  core_->loop().run([&] { core_.reset(); });
}

uint16_t Server::port() const {
  return core_->port();
}

size_t Server::connections() const {
  return core_->connection_count();
}

size_t Server::arriving() const {
  return core_->arriving();
}

size_t Server::unsent_bytes() const {
  return core_->unsent_bytes();
}

int64_t Server::slow_readers_dropped() const {
  return core_->slow_readers_dropped();
}

void Server::stop(Duration grace) {
  core_->loop().run([&] { core_->begin_stop(grace); });
  core_->wait_stopped();
}

}  // namespace windrow::http
