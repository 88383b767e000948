#include "http/server_connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "http/reply_head.h"

namespace windrow::http {

namespace asio = boost::asio;

namespace {

// A client that sends ahead is read no further than this while its request is being answered.
constexpr size_t kWaitingMax = size_t{64} * 1024;

// Answers to pipelined requests that a client has not taken: no more are begun above this.
constexpr size_t kPipelinedMax = size_t{256} * 1024;

// How long a client may take to notice that the connection is over. Closed at once, what it is
// still sending would make its system throw away our last answer unread.
constexpr Duration kLingerTime = std::chrono::seconds(2);

// A client that vanished without a word (a cut cable) is asked for after this, and given up after
// kProbes of kProbeGapS without an answer.
constexpr int kProbeAfterS = 30;
constexpr int kProbeGapS = 10;
constexpr int kProbes = 3;

void set_option(int socket, int level, int name, int value) {
  // What a system does not know it does without.
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

std::string address_text(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  asio::ip::address address = socket.remote_endpoint(error).address();
  if (error) return "unknown";  // it is gone already
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address.to_string();
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, Loop& loop, ConnectionHost& host)
    : socket_(std::move(socket)),
      loop_(loop),
      host_(host),
      transport_(host.make_transport(socket_)),
      peer_(address_text(socket_)),
      parser_(host.options().request) {}

void Connection::begin() {
  since_ = host_.now();
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  set_socket_options();
  wait_readable();
}

void Connection::set_socket_options() {
  const int socket = socket_.native_handle();
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(kUnsentInSystem));
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeGapS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

// --- bytes in ---------------------------------------------------------------------------------

void Connection::wait_readable() {
  if (!open_ || wait_read_) return;
  if (!lingering_ && (end_ != End::kNone || waiting_.size() >= kWaitingMax)) return;
  wait_to_read(Transport::State::kWaitReadable);
}

// Waiting and then reading, not reading asynchronously: connections that wait hold no buffer.
void Connection::wait_to_read(Transport::State state) {
  wait_read_ = true;
  const auto what = state == Transport::State::kWaitWritable ? asio::ip::tcp::socket::wait_write
                                                             : asio::ip::tcp::socket::wait_read;
  socket_.async_wait(what, [self = shared_from_this()](const ErrorCode& error) {
    self->wait_read_ = false;
    if (self->open_ && !error) self->readable();
  });
}

void Connection::readable() {
  const std::span<char> buffer = host_.read_buffer();
  const Transport::Moved moved = transport_->read(buffer);
  switch (moved.state) {
    case Transport::State::kWaitReadable:
    case Transport::State::kWaitWritable:
      return wait_to_read(moved.state);
    case Transport::State::kEnded:
      return client_ended();
    case Transport::State::kBroken:
      return cut_off();
    case Transport::State::kNotTls:
      transport_ = std::make_unique<PlainTransport>(socket_);
      refuse(400, "this port speaks TLS: ask again with https:// instead of http://");
      return flush();
    case Transport::State::kMoved:
      break;
  }
  if (lingering_) {  // too late to say anything
    unheard_ = true;
    return wait_readable();
  }
  process(std::string_view(buffer.data(), moved.bytes));
}

// It sends no more. What was answered it gets, what is being answered it does not want any more.
void Connection::client_ended() {
  if (handling_ || lingering_ || out_.empty()) return cut_off();
  set_arriving(false);
  waiting_.clear();
  end_ = End::kClose;
}

// Everything that can be done now with what came.
void Connection::process(std::string_view bytes) {
  if (waiting_.empty()) {
    waiting_ = take_requests(bytes);
  } else {
    waiting_ += bytes;
    // A handler may be called, and nothing may change under it.
    std::string all = std::exchange(waiting_, {});
    const size_t left = take_requests(all).size();
    all.erase(0, all.size() - left);
    waiting_ = std::move(all);
  }
  if (!open_) return;
  flush();
  wait_readable();
}

// What is left of `bytes` when a handler has to answer first, or more is needed.
std::string_view Connection::take_requests(std::string_view bytes) {
  while (open_ && !handling_ && end_ == End::kNone && !bytes.empty() &&
         out_.size() < kPipelinedMax) {
    size_t consumed = 0;
    const RequestParser::State state = parser_.feed(bytes, consumed);
    bytes.remove_prefix(consumed);
    if (state == RequestParser::State::kWantsMore) {
      wait_for_more(bytes);
      break;
    }
    if (state == RequestParser::State::kFailed) {
      refuse(parser_.failure_status(), parser_.failure());
      break;
    }
    handle();
  }
  if (end_ == End::kNone) return bytes;
  unheard_ = unheard_ || !bytes.empty();
  return {};
}

// A request is not complete; `left` of it was not consumed.
void Connection::wait_for_more(std::string_view left) {
  if (left.empty() && !parser_.begun()) return;
  set_arriving(true);
  count_body();
  if (body_counted_ > 0 && host_.has_too_many_arriving_bytes()) {
    ServerReply reply = error_reply(
        503, "too many large requests are arriving at once; ask again in a few seconds");
    reply.headers.set("Retry-After", "2");
    return refuse(reply);
  }
  if (!parser_.take_expectation()) return;
  // It asks before it sends a body: what nobody takes need not come.
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  if (found.handler == nullptr) return refuse(reply_without_handler(found.allowed));
  append("HTTP/1.1 100 Continue\r\n\r\n");
}

void Connection::set_arriving(bool arriving) {
  if (arriving_ == arriving) return;
  arriving_ = arriving;
  host_.count_arriving(arriving ? 1 : -1);
  if (arriving) {
    since_ = host_.now();
  } else {
    host_.count_arriving_bytes(-static_cast<int64_t>(body_counted_));
    body_counted_ = 0;
  }
}

void Connection::count_body() {
  const size_t bytes = parser_.body().size();
  host_.count_arriving_bytes(static_cast<int64_t>(bytes - body_counted_));
  body_counted_ = bytes;
}

// --- a request --------------------------------------------------------------------------------

void Connection::handle() {
  set_arriving(false);
  ++serial_;
  handling_ = true;
  started_ = false;
  keep_alive_ = parser_.keep_alive();
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  const Handler* handler = found.handler;
  if (handler == nullptr && parser_.method() == "OPTIONS" && host_.options().on_options)
    handler = &host_.options().on_options;
  in_handler_ = true;
  if (handler != nullptr) {
    const ServerRequest request{.method = parser_.method(),
                                .path = parser_.path(),
                                .query = parser_.query(),
                                .parts = found.parts,
                                .peer = peer_,
                                .headers = parser_.headers(),
                                .body = parser_.body()};
    try {
      (*handler)(request, Exchange(shared_from_this(), serial_));
    } catch (const std::exception&) {
      // A defect of the handler ends its request, not the server: its exchange has answered 500.
    }
  } else {
    send(serial_, reply_without_handler(found.allowed));
  }
  in_handler_ = false;
  if (open_ && !handling_) answered();
}

ServerReply Connection::reply_without_handler(const std::string& allowed) const {
  const std::string path = shown(parser_.path());
  const std::string method = shown(parser_.method());
  if (allowed.empty()) return error_reply(404, fmt::format("there is nothing at {}", path));
  ServerReply reply = error_reply(405, fmt::format("{} takes {}, not {}", path, allowed, method));
  reply.headers.add("Allow", allowed);
  return reply;
}

ServerReply Connection::error_reply(int status, std::string_view message, bool handled) const {
  if (host_.options().make_error) {
    return host_.options().make_error({.status = status,
                                       .message = message,
                                       .method = parser_.method(),
                                       .path = parser_.path(),
                                       .peer = peer_,
                                       .headers = parser_.headers(),
                                       .handled = handled});
  }
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = fmt::format("{}\n", message)};
}

void Connection::refuse(int status, std::string_view message) {
  refuse(error_reply(status, message));
}

// The answer to what cannot be read on: the connection ends with it.
void Connection::refuse(const ServerReply& reply) {
  keep_alive_ = false;
  set_arriving(false);
  append_reply(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size()),
               reply.body);
  end_ = End::kClose;
  unheard_ = true;
}

// The answer is complete, and the handler has returned.
void Connection::answered() {
  parser_.next();
  since_ = host_.now();
  // An answer in pieces may have begun before the server was stopped.
  if ((!keep_alive_ || host_.stopping()) && end_ == End::kNone) end_ = End::kClose;
}

// --- an answer --------------------------------------------------------------------------------

void Connection::append(std::string_view bytes) {
  if (out_.empty()) wrote_at_ = host_.now();
  out_.append(bytes);
}

void Connection::append_head(std::string_view head) {
  if (host_.stopping()) keep_alive_ = false;
  append(head);
  out_.append(host_.common_lines());
  if (host_.options().more_headers) {
    Headers more;
    host_.options().more_headers(parser_.headers(), more);
    if (are_writable(more)) out_.append(header_lines(more));
  }
  if (!keep_alive_) {
    out_.append("Connection: close\r\n");
  } else if (parser_.is_http_1_0()) {
    out_.append("Connection: keep-alive\r\n");
  }
}

void Connection::append_reply(std::string_view head, std::string_view body) {
  append_head(head);
  out_.append("\r\n");
  if (!parser_.is_head()) out_.append(body);
}

void Connection::send(uint64_t serial, const ServerReply& reply) {
  if (!is_open(serial) || started_) return;
  append_reply(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size()),
               has_body(reply.status) ? std::string_view(reply.body) : std::string_view());
  finish(serial);
}

void Connection::send(uint64_t serial, const PreparedReply& reply) {
  if (!is_open(serial) || started_) return;
  append_reply(reply.head_, reply.body_);
  finish(serial);
}

void Connection::start(uint64_t serial, int status, const Headers& headers,
                       std::optional<uint64_t> body_bytes) {
  if (!is_open(serial) || started_) return;
  started_ = true;
  body_left_ = body_bytes;
  chunked_ = !body_bytes && !parser_.is_http_1_0();
  if (!body_bytes && parser_.is_http_1_0()) keep_alive_ = false;  // its end is the connection's
  append_head(reply_head(status, "", headers, body_bytes));
  out_.append(chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
  if (!in_handler_) flush();
}

void Connection::write(uint64_t serial, std::string_view bytes) {
  if (!is_open(serial) || !started_ || parser_.is_head()) return;
  if (body_left_) {
    bytes = bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(*body_left_, bytes.size())));
    *body_left_ -= bytes.size();
  }
  if (bytes.empty()) return;  // as a chunk it would be the last
  if (chunked_) append(fmt::format("{:x}\r\n", bytes.size()));
  append(bytes);
  if (chunked_) append("\r\n");
  if (out_.size() > host_.options().unsent_bytes_max) {
    end_ = End::kReset;
    return cut_off();
  }
  if (!in_handler_) flush();
}

void Connection::finish(uint64_t serial) {
  if (!is_open(serial)) return;
  if (started_ && !parser_.is_head()) {
    // Fewer than were promised: only a broken connection tells the client.
    if (body_left_.value_or(0) > 0) return reset(serial);
    if (chunked_) append("0\r\n\r\n");
  }
  handling_ = false;
  forget_calls();
  if (in_handler_) return;  // handle() goes on
  answered();
  process({});
}

void Connection::reset(uint64_t serial) {
  if (!is_open(serial)) return;
  handling_ = false;
  forget_calls();
  end_ = End::kReset;
  if (!in_handler_) flush();
}

void Connection::abandon(uint64_t serial) {
  if (!is_open(serial)) return;
  if (started_) return reset(serial);
  send(serial, error_reply(500, "the request was given up", true));
}

void Connection::on_disconnect(uint64_t serial, std::function<void()> gone) {
  if (is_open(serial)) {
    gone_ = std::move(gone);
  } else if (!open_ && handling_ && serial == serial_) {
    gone();
  }
}

void Connection::on_drained(uint64_t serial, size_t threshold, std::function<void()> drained) {
  if (!is_open(serial)) return;
  drained_ = std::move(drained);
  drained_threshold_ = threshold;
  look_at_drain();
}

void Connection::forget_calls() {
  gone_ = nullptr;
  drained_ = nullptr;
}

// --- bytes out --------------------------------------------------------------------------------

void Connection::flush() {
  if (!open_ || wait_write_) return;
  while (!out_.empty()) {
    const Transport::Moved moved = transport_->write(out_.unsent());
    if (moved.state == Transport::State::kWaitReadable ||
        moved.state == Transport::State::kWaitWritable) {
      wait_to_write(moved.state);
      return look_at_drain();
    }
    if (moved.state != Transport::State::kMoved) return cut_off();
    out_.sent(moved.bytes);
    wrote_at_ = host_.now();
  }
  look_at_drain();
  all_sent();
}

void Connection::wait_to_write(Transport::State state) {
  wait_write_ = true;
  const auto what = state == Transport::State::kWaitReadable ? asio::ip::tcp::socket::wait_read
                                                             : asio::ip::tcp::socket::wait_write;
  socket_.async_wait(what, [self = shared_from_this()](const ErrorCode& error) {
    self->wait_write_ = false;
    if (!self->open_ || error) return;
    self->flush();
    // Requests may have waited for room.
    if (self->open_ && self->out_.empty() && !self->waiting_.empty()) self->process({});
  });
}

// Told by way of the loop: who is told writes more, and would be told again while it does.
void Connection::look_at_drain() {
  if (!drained_ || drain_posted_ || out_.size() > drained_threshold_) return;
  drain_posted_ = true;
  loop_.post([self = shared_from_this()] { self->tell_drained(); });
}

void Connection::tell_drained() {
  drain_posted_ = false;
  if (open_ && drained_ && out_.size() <= drained_threshold_) std::exchange(drained_, nullptr)();
}

void Connection::all_sent() {
  if (end_ == End::kNone || handling_) return;
  if (end_ == End::kReset) return close();
  if (lingering_) return;
  waiting_ = {};
  if (host_.stopping() && !unheard_) return close();
  lingering_ = true;
  since_ = host_.now();
  if (!transport_->end_sending()) return close();
  wait_readable();
}

// --- the end ----------------------------------------------------------------------------------

bool Connection::is_overdue(TimePoint now) const {
  if (!open_) return false;
  const ServerOptions& options = host_.options();
  if (lingering_) return now - since_ > kLingerTime;
  if (!out_.empty()) return now - wrote_at_ > options.write_time;
  if (handling_) return false;  // it takes as long as it takes
  if (arriving_ || !transport_->is_ready()) return now - since_ > options.request_time;
  return now - since_ > host_.idle_time();
}

void Connection::end_overdue() {
  if (!open_) return;
  if (!lingering_ && out_.empty() && arriving_) {
    refuse(408, "the request took too long to come");
    flush();
    return;
  }
  if (!out_.empty()) end_ = End::kReset;
  cut_off();
}

void Connection::stop() {
  if (!open_) return;
  if (lingering_ ? !unheard_ : resting()) return close();
  if (lingering_) return;
  if (handling_ || !arriving_ || end_ != End::kNone) return;
  // Who sends slowly, or has stopped in the middle, would be waited for as long as may be.
  refuse(503, "the server is being stopped; try again later");
  flush();
}

void Connection::cut_off() {
  if (!open_) return;
  close();
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  set_arriving(false);
  drained_ = nullptr;
  const auto self = shared_from_this();  // the server lets go of us
  ErrorCode ignored;
  if (end_ == End::kReset) {
    // Without it the system would go on sending; with it the client sees a broken connection.
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  } else {
    transport_->end_sending();
  }
  socket_.close(ignored);
  host_.closed(*this);
}

}  // namespace windrow::http
