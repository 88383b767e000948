#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "http/server_connection.h"
#include "http/server_core.h"
#include "http/server_replies.h"

namespace windrow::http {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

constexpr size_t kReadBytes = size_t{64} * 1024;

// How often deadlines are checked: they are kept to within this.
constexpr Duration kSweep = std::chrono::milliseconds(250);

constexpr int kBacklog = 4096;

// Where no client could be dropped, they are checked again after this: in a full server every
// connection that writes asks for room.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);

}  // namespace

ServerCore::ServerCore(Loop& loop, ServerOptions options, Routes<Handler> routes)
    : loop_(loop),
      options_(std::move(options)),
      routes_(std::move(routes)),
      buffer_(kReadBytes),
      acceptor_(loop.context()),
      sweep_(loop),
      grace_(loop),
      unsent_(options_.unsent_bytes_of_all_max) {}

Result<void> ServerCore::listen() {
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

std::unique_ptr<Transport> ServerCore::make_transport(tcp::socket& socket) {
  if (tls_) return tls_->serve(socket);
  return std::make_unique<PlainTransport>(socket);
}

void ServerCore::accept() {
  if (accepting_ || stopping_ || connections_.size() >= options_.connections_max) return;
  accepting_ = true;
  acceptor_.async_accept(
      [self = std::weak_ptr(self_)](const boost::system::error_code& error, tcp::socket socket) {
        if (const auto core = self.lock()) (*core)->accepted(error, std::move(socket));
      });
}

void ServerCore::accepted(const boost::system::error_code& error, tcp::socket socket) {
  accepting_ = false;
  if (stopping_) return;
  if (!error) {
    auto connection = std::make_shared<Connection>(std::move(socket), *this);
    connections_.push_front(connection);
    connection->position = connections_.begin();
    ++count_;
    connection->begin();
  } else if (error != asio::error::connection_aborted) {
    return;  // no descriptors left, most likely: sweep() tries again
  }
  accept();
}

void ServerCore::closed(const Connection& connection) {
  connections_.erase(connection.position);
  --count_;
  if (stopping_) {
    if (connections_.empty()) notify_stopped();
  } else {
    accept();
  }
}

Duration ServerCore::idle_time() const {
  return idle_allowed(options_.idle_time, connections_.size(), options_.connections_max);
}

void ServerCore::count_arriving(int requests) {
  arriving_.fetch_add(static_cast<size_t>(requests), std::memory_order_relaxed);
}

void ServerCore::count_arriving_bytes(int64_t bytes) {
  arriving_bytes_ += static_cast<size_t>(bytes);
}

bool ServerCore::has_too_many_arriving_bytes() const {
  return arriving_bytes_ > options_.arriving_bytes_max;
}

void ServerCore::count_unsent(int64_t bytes) {
  unsent_.count(bytes);
  unsent_now_.store(unsent_.bytes(), std::memory_order_relaxed);
}

bool ServerCore::make_unsent_room(size_t bytes, const Connection& wanting) {
  while (!unsent_.has_room(bytes)) {
    // Dropping all of them would not suffice.
    if (bytes > options_.unsent_bytes_of_all_max || !drop_slow_reader(wanting)) return false;
  }
  return true;
}

// False: no client is slow enough.
bool ServerCore::drop_slow_reader(const Connection& wanting) {
  const TimePoint time = now();
  if (no_slow_reader_at_ && time - *no_slow_reader_at_ < kLookAgain) return false;
  std::vector<UnsentOf> held;
  std::vector<std::shared_ptr<Connection>> whose;
  for (const std::shared_ptr<Connection>& connection : connections_) {
    if (connection.get() == &wanting || connection->unsent_held() == 0) continue;
    held.push_back({.bytes = connection->unsent_held(), .quiet = connection->unsent_quiet(time)});
    whose.push_back(connection);
  }
  const std::optional<size_t> slowest = slowest_reader(held);
  no_slow_reader_at_ = slowest ? std::nullopt : std::optional(time);
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

void ServerCore::sweep() {
  // First, so that sweeps go on where the rest runs out of memory.
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

void ServerCore::begin_stop(Duration grace) {
  if (!stopping_) {
    stopping_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    const std::list<std::shared_ptr<Connection>> all = connections_;
    for (const std::shared_ptr<Connection>& connection : all)
      connection->stop();
    if (connections_.empty()) return notify_stopped();
  }
  if (grace <= Duration::zero()) return cut_off_all();
  grace_.wake_at(now() + grace, [this] { cut_off_all(); });
}

void ServerCore::cut_off_all() {
  const std::list<std::shared_ptr<Connection>> all = connections_;
  for (const std::shared_ptr<Connection>& connection : all)
    connection->cut_off();
}

void ServerCore::notify_stopped() {
  const std::scoped_lock lock(mutex_);
  stopped_ = true;
  stopped_changed_.notify_all();
}

void ServerCore::wait_stopped() {
  std::unique_lock lock(mutex_);
  stopped_changed_.wait(lock, [&] { return stopped_; });
}

Result<std::unique_ptr<Server>> Server::open(Loop& loop, ServerOptions options,
                                             Routes<Handler> routes) {
  auto core = std::make_unique<ServerCore>(loop, std::move(options), std::move(routes));
  Result<void> listening;
  loop.run([&] {
    listening = core->listen();
    if (!listening) core.reset();  // on its loop
  });
  if (!listening) return listening.error();
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::Server(std::unique_ptr<ServerCore> core) : core_(std::move(core)) {}

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

Result<void> Server::reload_tls() {
  const std::optional<TlsFiles>& files = core_->options().tls;
  if (!files) return {};
  Result<std::shared_ptr<TlsContext>> tls = TlsContext::load(*files);
  if (!tls) return tls.error();
  core_->loop().run([&] { core_->use_tls(*std::move(tls)); });
  return {};
}

void Server::stop(Duration grace) {
  core_->loop().run([&] { core_->begin_stop(grace); });
  core_->wait_stopped();
}

}  // namespace windrow::http
