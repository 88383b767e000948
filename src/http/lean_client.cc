#include "http/lean_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.h"
#include "http/call_commands.h"
#include "http/epoll_set.h"
#include "http/failure_text.h"
#include "http/limit_watch.h"
#include "http/no_file.h"
#include "http/reply_reader.h"
#include "http/request_text.h"

namespace windrow::http {
namespace {

using boost::asio::ip::tcp;
using Event = ReplyReader::Event;

constexpr size_t kLeanReadBytes = size_t{64} << 10;
constexpr size_t kLeanBodyReserveMax = size_t{1} << 20;
// How long addresses of a name are believed.
constexpr Duration kAddressesAge = std::chrono::seconds(60);

struct LeanConnection;
struct Origin;

struct LeanCall {
  CallId id;
  ClientRequest request;
  Client::Done done;
  CallPlace place;
  CallTimes times;
  Origin* origin = nullptr;
  LeanConnection* connection = nullptr;  // none: it waits for addresses
  bool was_retried = false;

  std::string body;
  std::optional<ReplyRoom::Part> room;  // of the body, from kReplyCountedFrom on
  size_t body_bytes = 0;
  TimePoint first_byte{};
  bool reply_began = false;
};

enum class ConnectionState : uint8_t { kConnecting, kBusy, kIdle };

struct LeanConnection {
  int socket = -1;
  Origin* origin = nullptr;
  LeanCall* call = nullptr;  // none: idle
  ConnectionState state = ConnectionState::kConnecting;
  size_t address = 0;     // of the origin's
  uint64_t batch = 0;     // of events, in which it was opened
  bool was_used = false;  // a whole reply came over it
  bool waits_to_write = false;
  std::string head;          // of the request
  size_t written_bytes = 0;  // of head and body
  std::string unread;        // bytes that the reader wants more of; mostly none
  ReplyReader reader;
};

// One host and port.
struct Origin {
  Url url;
  std::vector<tcp::endpoint> addresses;
  std::optional<TimePoint> resolved_at;  // none: the addresses are not to be believed
  bool is_resolving = false;
  std::vector<CallId> waiting;        // for addresses
  std::vector<LeanConnection*> idle;  // the one used last at the back
};

std::string text_of(int error) {
  return error == 0 ? std::string() : std::generic_category().message(error);
}

}  // namespace

// All of it on the loop's thread, but for commands_.
class LeanClient::Impl {
 public:
  Impl(Loop& loop, LeanClientOptions options)
      : loop_(loop), options_(options), commands_(loop, [this] { take_commands(); }) {
    loop_.run([this] {
      sockets_ = std::make_unique<EpollSet>(
          loop_, [this](std::span<const epoll_event> events) { on_sockets(events); });
      limits_ =
          std::make_unique<LimitWatch>(loop_, [this](TimePoint now) { return check_limits(now); });
      resolver_ = std::make_unique<tcp::resolver>(loop_.context());
    });
  }

  ~Impl() {
    loop_.run([this] { close_all(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  CallCommands& commands() { return commands_; }

 private:
  void close_all() {
    do {
      while (!calls_.empty())
        cancel_call(*calls_.begin()->second);
      take_commands();
    } while (!calls_.empty());
    for (const std::unique_ptr<LeanConnection>& connection : connections_) {
      if (connection) ::close(connection->socket);
    }
    connections_.clear();
    resolver_.reset();
    limits_.reset();
    sockets_.reset();
  }

  // --- the life of a call -----------------------------------------------------------------------

  void take_commands() {
    commands_.take(taken_);
    for (CallCommand& command : taken_) {
      if (command.request) {
        start_call(std::move(command));
        continue;
      }
      const auto found = calls_.find(command.id);
      if (found != calls_.end()) cancel_call(*found->second);
    }
    taken_.clear();
  }

  void start_call(CallCommand command) {
    auto owned = std::make_unique<LeanCall>();
    LeanCall& call = *owned;
    call.id = command.id;
    call.request = std::move(*command.request);
    call.done = std::move(command.done);
    call.place.url = call.request.url;
    call.times = {.start = command.start, .progress = command.start};
    if (std::optional<std::string> fault = request_fault(call.request)) {
      call.done(ClientFailure{FailureKind::kProtocol, false, std::move(*fault)});
      return;
    }
    if (call.request.url.tls) {
      call.done(ClientFailure{FailureKind::kTls, false,
                              tls_text(call.place, {}, "this client speaks plain HTTP only")});
      return;
    }
    calls_.emplace(call.id, std::move(owned));
    limits_->consider(call.request.limits, call.times);
    call.origin = &origin_of(call.request.url);
    connect_call(call);
  }

  // There are few: the upstreams of a job.
  Origin& origin_of(const Url& url) {
    for (const std::unique_ptr<Origin>& origin : origins_) {
      if (origin->url.port == url.port && origin->url.host == url.host) return *origin;
    }
    origins_.push_back(std::make_unique<Origin>(Origin{.url = url}));
    return *origins_.back();
  }

  // On a kept connection, else on a new one. May end the call.
  void connect_call(LeanCall& call) {
    Origin& origin = *call.origin;
    while (!origin.idle.empty() && !call.was_retried) {
      LeanConnection& connection = *origin.idle.back();
      if (!is_quiet(connection)) {
        close_connection(connection);
        continue;
      }
      origin.idle.pop_back();
      --idle_;
      begin_request(connection, call);
      return;
    }
    if (origin.resolved_at && loop_.clock().now() - *origin.resolved_at < kAddressesAge) {
      open_connection(call, 0, 0);
      return;
    }
    origin.waiting.push_back(call.id);
    resolve(origin);
  }

  void end_call(LeanCall& call, ClientResult result) {
    const auto node = calls_.extract(call.id);
    const Done done = std::move(call.done);
    done(std::move(result));
  }

  void fail_call(LeanCall& call, FailureKind kind, std::string text) {
    if (call.connection != nullptr) close_connection(*call.connection);
    end_call(call, ClientFailure{kind, call.times.connected, std::move(text)});
  }

  void cancel_call(LeanCall& call) {
    fail_call(call, FailureKind::kCancelled, cancelled_text(call.place));
  }

  TimePoint check_limits(TimePoint now) {
    TimePoint next = TimePoint::max();
    std::vector<std::pair<CallId, LimitKind>> over;
    for (const auto& [id, call] : calls_) {
      const DueLimit due = due_limit(call->request.limits, call->times);
      if (due.at <= now) {
        over.emplace_back(id, due.kind);
      } else {
        next = std::min(next, due.at);
      }
    }
    for (const auto& [id, kind] : over) {
      const auto found = calls_.find(id);
      if (found == calls_.end()) continue;
      LeanCall& call = *found->second;
      fail_call(call, FailureKind::kTimeout,
                timeout_text(call.place, kind, call.request.limits, call.reply_began));
    }
    return next;
  }

  // --- addresses --------------------------------------------------------------------------------

  void resolve(Origin& origin) {
    if (std::exchange(origin.is_resolving, true)) return;
    const auto on_resolved = [this, &origin, alive = std::weak_ptr(alive_)](
                                 const boost::system::error_code& error,
                                 const tcp::resolver::results_type& results) {
      if (alive.expired()) return;
      origin.is_resolving = false;
      origin.addresses.clear();
      for (const auto& result : results)
        origin.addresses.push_back(result.endpoint());
      if (!origin.addresses.empty()) origin.resolved_at = loop_.clock().now();
      for (const CallId id : std::exchange(origin.waiting, {})) {
        const auto found = calls_.find(id);
        if (found == calls_.end()) continue;
        LeanCall& call = *found->second;
        if (origin.addresses.empty() && no_file_is_left()) {
          fail_call(call, FailureKind::kFiles, files_text(call.place, error.message()));
        } else if (origin.addresses.empty()) {
          fail_call(call, FailureKind::kResolve, resolve_text(call.place, error.message()));
        } else {
          open_connection(call, 0, 0);
        }
      }
    };
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(origin.url.host, error);
    if (!error) {
      const tcp::endpoint endpoint(address, origin.url.port);
      on_resolved({}, tcp::resolver::results_type::create(endpoint, origin.url.host, ""));
      return;
    }
    resolver_->async_resolve(origin.url.host, std::to_string(origin.url.port), on_resolved);
  }

  // --- connections ------------------------------------------------------------------------------

  // To the address `at`, or those after it; `error`: why the one before could not be reached. Ends
  // the call when none is left.
  void open_connection(LeanCall& call, size_t at, int error) {
    Origin& origin = *call.origin;
    for (; at < origin.addresses.size(); ++at) {
      const tcp::endpoint& address = origin.addresses[at];
      if (calls_.size() + idle_ > options_.connections_max) close_one_idle();
      int socket = open_socket(address);
      while (socket < 0 && is_for_want_of_files(errno) && close_one_idle())
        socket = open_socket(address);
      if (socket < 0) {
        error = errno;
        break;
      }
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      // A server may think for longer than a router remembers the connection.
      ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      if (::connect(socket, address.data(), static_cast<socklen_t>(address.size())) != 0 &&
          errno != EINPROGRESS) {
        error = errno;
        ::close(socket);
        continue;
      }
      const auto slot = static_cast<size_t>(socket);
      if (connections_.size() <= slot) connections_.resize(slot + 1);
      connections_[slot] = std::make_unique<LeanConnection>();
      LeanConnection& connection = *connections_[slot];
      connection.socket = socket;
      connection.origin = &origin;
      connection.call = &call;
      connection.address = at;
      connection.batch = batch_;
      connection.waits_to_write = true;
      call.connection = &connection;
      sockets_->watch(socket, EPOLLIN | EPOLLOUT);
      return;
    }
    call.connection = nullptr;
    if (is_for_want_of_files(error)) {
      fail_call(call, FailureKind::kFiles, files_text(call.place, text_of(error)));
      return;
    }
    origin.resolved_at.reset();  // the addresses may be old
    fail_call(call, FailureKind::kConnect,
              connect_text(call.place, error == ECONNREFUSED, text_of(error)));
  }

  static int open_socket(const tcp::endpoint& address) {
    return ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    IPPROTO_TCP);
  }

  // To any host, the one that rests longest there. False: none rests.
  bool close_one_idle() {
    for (const std::unique_ptr<Origin>& origin : origins_) {
      if (origin->idle.empty()) continue;
      close_connection(*origin->idle.front());
      return true;
    }
    return false;
  }

  void on_connected(LeanConnection& connection) {
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(connection.socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    LeanCall& call = *connection.call;
    if (error != 0) {
      const size_t next = connection.address + 1;
      close_connection(connection);
      open_connection(call, next, error);
      return;
    }
    begin_request(connection, call);
  }

  // Whether nothing came over it since its last reply. What did would be taken for the next one.
  static bool is_quiet(const LeanConnection& connection) {
    char byte = 0;
    const ssize_t read = ::recv(connection.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return read < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  // Its call, if it has one, loses it.
  void close_connection(LeanConnection& connection) {
    if (connection.call != nullptr) connection.call->connection = nullptr;
    if (connection.state == ConnectionState::kIdle) {
      std::vector<LeanConnection*>& idle = connection.origin->idle;
      idle.erase(std::find(idle.begin(), idle.end(), &connection));
      --idle_;
    }
    const int socket = connection.socket;
    connections_[static_cast<size_t>(socket)].reset();
    ::close(socket);  // which takes it out of the epoll
  }

  void rest(LeanConnection& connection) {
    // The call that ends is still counted, for its connection.
    if (calls_.size() + idle_ > options_.connections_max) {
      close_connection(connection);
      return;
    }
    connection.state = ConnectionState::kIdle;
    connection.origin->idle.push_back(&connection);
    ++idle_;
  }

  // --- writing ----------------------------------------------------------------------------------

  void begin_request(LeanConnection& connection, LeanCall& call) {
    connection.call = &call;
    call.connection = &connection;
    connection.state = ConnectionState::kBusy;
    connection.reader = ReplyReader(call.request.method == Method::kHead);
    connection.head.clear();
    append_request_head(call.request, connection.head);
    connection.written_bytes = 0;
    call.times.connected = true;
    call.times.progress = loop_.clock().now();
    if (call.request.limits.idle > Duration::zero()) {
      limits_->consider(call.request.limits, call.times);
    }
    write_request(connection);
  }

  void write_request(LeanConnection& connection) {
    static const std::string kNothing;
    const std::string& head = connection.head;
    const LeanCall& call = *connection.call;
    const std::string& body = call.request.body ? *call.request.body : kNothing;
    const size_t all = head.size() + body.size();
    while (connection.written_bytes < all) {
      const size_t of_head = std::min(connection.written_bytes, head.size());
      const size_t of_body = connection.written_bytes - of_head;
      // sendmsg does not change what these point to.
      std::array<iovec, 2> parts = {{
          {const_cast<char*>(head.data()) + of_head, head.size() - of_head},
          {const_cast<char*>(body.data()) + of_body, body.size() - of_body},
      }};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t written = ::sendmsg(connection.socket, &message, MSG_NOSIGNAL);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno != EAGAIN) {
        // The server may have answered before it closed ("too large"): reading finds out.
        want_to_write(connection, false);
        return;
      }
      if (written < 0) {
        want_to_write(connection, true);
        return;
      }
      connection.written_bytes += static_cast<size_t>(written);
      connection.call->times.progress = loop_.clock().now();
    }
    want_to_write(connection, false);
  }

  void want_to_write(LeanConnection& connection, bool wanted) {
    if (std::exchange(connection.waits_to_write, wanted) == wanted) return;
    sockets_->watch(connection.socket, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  // --- reading ----------------------------------------------------------------------------------

  void on_sockets(std::span<const epoll_event> events) {
    ++batch_;
    for (const epoll_event& event : events) {
      // What was closed while others of this batch were served is gone by now, or its number is
      // that of a new connection, which the event does not mean.
      LeanConnection* connection = find(event.data.fd);
      if (connection == nullptr || connection->batch == batch_) continue;
      if (connection->state == ConnectionState::kConnecting) {
        if ((event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) on_connected(*connection);
        continue;
      }
      if ((event.events & EPOLLOUT) != 0 && connection->call != nullptr) write_request(*connection);
      if ((event.events & ~uint32_t{EPOLLOUT}) != 0) read_reply(*connection);
    }
    for (const CallId id : std::exchange(retries_, {})) {
      const auto found = calls_.find(id);
      if (found != calls_.end()) connect_call(*found->second);
    }
  }

  LeanConnection* find(int socket) {
    const auto slot = static_cast<size_t>(socket);
    return slot < connections_.size() ? connections_[slot].get() : nullptr;
  }

  // False: its socket is read again when there is room.
  bool has_room_for(LeanCall& call) {
    if (!call.room || call.room->may_grow()) return true;
    if (!call.times.paused) call.times.paused = loop_.clock().now();
    sockets_->watch(call.connection->socket, 0);
    return false;
  }

  void hold_room(LeanCall& call) {
    if (options_.reply_room == nullptr || call.body.size() < kReplyCountedFrom) return;
    if (!call.room) {
      call.room.emplace(*options_.reply_room, [this, id = call.id, alive = std::weak_ptr(alive_)] {
        loop_.post([this, id, alive] {
          if (!alive.expired()) resume(id);
        });
      });
    }
    call.room->hold(call.body.size());
  }

  void resume(CallId id) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    LeanCall& call = *found->second;
    resume_times(call.times, loop_.clock().now());
    limits_->consider(call.request.limits, call.times);
    if (call.connection == nullptr) return;
    sockets_->watch(call.connection->socket,
                    call.connection->waits_to_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  void read_reply(LeanConnection& connection) {
    if (connection.call != nullptr && !has_room_for(*connection.call)) return;
    const ssize_t count = ::recv(connection.socket, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      on_end(connection, count == 0 ? 0 : errno);
      return;
    }
    if (connection.call == nullptr) {
      close_connection(connection);  // an answer that nobody asked for
      return;
    }
    LeanCall& call = *connection.call;
    call.times.progress = loop_.clock().now();
    if (!std::exchange(call.reply_began, true)) call.first_byte = call.times.progress;
    std::string_view bytes(buffer_.data(), static_cast<size_t>(count));
    if (!connection.unread.empty()) {
      connection.unread.append(bytes);
      bytes = connection.unread;
    }
    if (!take_events(connection, call, bytes)) return;
    // What was not used is kept for the next read; it may lie in `unread` itself.
    if (bytes.empty()) {
      connection.unread.clear();
    } else if (connection.unread.empty()) {
      connection.unread = bytes;
    } else {
      connection.unread.erase(0, connection.unread.size() - bytes.size());
    }
  }

  // False when the call is over, and with it perhaps the connection.
  bool take_events(LeanConnection& connection, LeanCall& call, std::string_view& bytes) {
    ReplyReader& reader = connection.reader;
    for (;;) {
      switch (reader.next(bytes)) {
        case Event::kMore:
          return true;
        case Event::kHead:
          if (reader.body_bytes_left() > call.request.limits.reply_bytes_max) {
            fail_too_large(call);
            return false;
          }
          if (!streams(call))
            call.body.reserve(std::min(reader.body_bytes_left(), kLeanBodyReserveMax));
          break;
        case Event::kBody:
          if (!take_piece(call, reader)) return false;
          break;
        case Event::kEnd:
          // Bytes behind the reply belong to nothing: that connection cannot be trusted.
          finish(connection, call, reader.keeps_connection() && bytes.empty());
          return false;
        case Event::kBad:
          fail_call(call, FailureKind::kProtocol, protocol_text(call.place, reader.fault()));
          return false;
        case Event::kHeadTooLarge:
          fail_call(call, FailureKind::kTooLarge, head_too_large_text(call.place));
          return false;
      }
    }
  }

  static bool streams(LeanCall& call) {
    const int32_t status = call.connection->reader.head().status;
    return call.request.on_data && status >= 200 && status < 300;
  }

  bool take_piece(LeanCall& call, ReplyReader& reader) {
    const std::string_view piece = reader.piece();
    call.body_bytes += piece.size();
    if (call.body_bytes > call.request.limits.reply_bytes_max) {
      fail_too_large(call);
      return false;
    }
    if (!streams(call)) {
      call.body.append(piece);
      hold_room(call);
    } else if (!call.request.on_data(reader.head(), piece)) {
      cancel_call(call);
      return false;
    }
    return true;
  }

  void fail_too_large(LeanCall& call) {
    fail_call(call, FailureKind::kTooLarge,
              body_too_large_text(call.place, call.request.limits.reply_bytes_max));
  }

  void finish(LeanConnection& connection, LeanCall& call, bool keep) {
    ClientReply reply{.head = std::move(connection.reader.head()),
                      .body = std::move(call.body),
                      .first_byte = call.first_byte - call.times.start,
                      .total = call.times.progress - call.times.start};
    const std::string& head = connection.head;
    const size_t all = head.size() + (call.request.body ? call.request.body->size() : 0);
    connection.call = nullptr;
    call.connection = nullptr;
    connection.was_used = true;
    connection.unread.clear();
    // A reply that came before the request was out: the rest of it would begin the next one.
    if (keep && connection.written_bytes == all) {
      rest(connection);
    } else {
      close_connection(connection);
    }
    end_call(call, std::move(reply));
  }

  // The server closed (0) or the connection broke.
  void on_end(LeanConnection& connection, int error) {
    if (connection.call == nullptr) {
      close_connection(connection);
      return;
    }
    LeanCall& call = *connection.call;
    if (error == 0 && connection.reader.end_of_connection() == Event::kEnd) {
      call.times.progress = loop_.clock().now();
      finish(connection, call, false);
      return;
    }
    // A connection that rested may have been closed just as the request went out. Once, and only
    // while nothing of a reply has come.
    if (connection.was_used && !call.reply_began && !call.was_retried) {
      call.was_retried = true;
      close_connection(connection);
      retries_.push_back(call.id);
      return;
    }
    fail_call(call, FailureKind::kReset, reset_text(call.place, call.reply_began, text_of(error)));
  }

  Loop& loop_;
  const LeanClientOptions options_;
  CallCommands commands_;
  std::vector<CallCommand> taken_;

  std::unique_ptr<EpollSet> sockets_;
  std::unique_ptr<LimitWatch> limits_;
  std::unique_ptr<tcp::resolver> resolver_;
  std::unordered_map<CallId, std::unique_ptr<LeanCall>> calls_;
  std::vector<std::unique_ptr<LeanConnection>> connections_;  // by their socket
  std::vector<std::unique_ptr<Origin>> origins_;              // never removed: calls point to them
  std::vector<CallId> retries_;                               // of the batch of events at hand
  uint64_t batch_ = 0;
  size_t idle_ = 0;
  std::array<char, kLeanReadBytes> buffer_;  // of whoever reads now
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

LeanClient::LeanClient(Loop& loop, LeanClientOptions options)
    : impl_(std::make_unique<Impl>(loop, options)) {}

LeanClient::~LeanClient() = default;

CallId LeanClient::send(ClientRequest request, Done done) {
  return impl_->commands().send(std::move(request), std::move(done));
}

void LeanClient::cancel(CallId call) {
  impl_->commands().cancel(call);
}

}  // namespace windrow::http
