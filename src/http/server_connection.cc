#include "http/server_connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
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
// One that sends on without looking is heard to its end, as long as a request may take.
constexpr Duration kLingerTime = std::chrono::seconds(2);

// A client that vanished without a word (a cut cable) is asked for after this, and given up after
// kProbes of kProbeGapS without an answer.
constexpr int kProbeAfterS = 30;
constexpr int kProbeGapS = 10;
constexpr int kProbes = 3;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kTooSlow = "the request took too long to come";
constexpr std::string_view kStopping = "the server is being stopped; try again later";

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
    if (self->open_ && !error) self->with_memory([&] { self->readable(); });
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
    heard_at_ = host_.now();
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
  if (taken_ && !started_ && parser_.take_expectation()) append(kContinue);
  flush();
  wait_readable();
  go_on_when_sent();
}

// Where the system took all answers at once, no socket will become writable to go on from. By way
// of the loop: other connections have their turn in between, and nothing goes deeper each time.
void Connection::go_on_when_sent() {
  if (!open_ || !answers_are_full_ || go_on_posted_ || !out_.empty()) return;
  go_on_posted_ = true;
  loop_.post([self = shared_from_this()] {
    self->go_on_posted_ = false;
    if (self->open_) self->process({});
  });
}

// Answers to pipelined requests lie here that the client has not taken; where the server is full of
// such, any are too many.
bool Connection::is_full_of_answers() const {
  return out_.size() >= kPipelinedMax || (!out_.empty() && !host_.has_unsent_room());
}

// What is left of `bytes` when a handler has to answer first, or more is needed.
std::string_view Connection::take_requests(std::string_view bytes) {
  answers_are_full_ = false;
  while (open_ && end_ == End::kNone && !bytes.empty()) {
    if (handling_ && !taken_) break;
    if (!handling_ && is_full_of_answers()) {
      answers_are_full_ = true;
      break;
    }
    size_t consumed = 0;
    const RequestParser::State state = parser_.feed(bytes, consumed);
    bytes.remove_prefix(consumed);
    if (handling_) {
      if (state == RequestParser::State::kFailed) {
        break_body(parser_.failure_status(), parser_.failure());
      } else if (!tell_piece(state == RequestParser::State::kDone ? BodyPiece::State::kEnd
                                                                  : BodyPiece::State::kMore)) {
        break;
      }
    } else if (state == RequestParser::State::kWantsMore) {
      wait_for_more(bytes);
      break;
    } else if (state == RequestParser::State::kFailed) {
      refuse(parser_.failure_status(), parser_.failure());
    } else if (state == RequestParser::State::kHead) {
      look_at_head();
      if (bytes.empty() && !handling_ && end_ == End::kNone) wait_for_more(bytes);
    } else {
      handle();
    }
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
  const bool asks = parser_.take_expectation();
  const bool is_long =
      parser_.content_length().value_or(0) > kBodyUnasked || parser_.body().size() > kBodyUnasked;
  if ((asks || is_long) && !judge_head()) return;
  if (asks) append(kContinue);
}

// Whether the rest of the request is worth waiting for; if not, it was answered.
bool Connection::judge_head() {
  if (judged_) return true;
  judged_ = true;
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  if (found.handler == nullptr) {
    if (parser_.method() == "OPTIONS" && host_.options().on_options) return true;
    refuse(reply_without_handler(found.allowed));
    return false;
  }
  if (!host_.options().at_head) return true;
  std::string none;
  ServerRequest head = request(found, none);
  const std::optional<ServerReply> refusal = host_.options().at_head(head);
  if (refusal) refuse(*refusal);
  return !refusal;
}

// A head is whole, and a body follows it.
void Connection::look_at_head() {
  judged_ = false;
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  if (parser_.is_gzip() && found.handler != nullptr && !found.handler->takes_gzip())
    return refuse(415, "this body must not be packed: send it without Content-Encoding");
  const bool in_pieces = found.handler != nullptr && found.handler->pieces() != nullptr;
  const uint64_t bytes_max =
      in_pieces ? std::numeric_limits<uint64_t>::max() : host_.options().request.body_bytes_max;
  if (parser_.accept_body(bytes_max, in_pieces) == RequestParser::State::kFailed)
    return refuse(parser_.failure_status(), parser_.failure());
  if (in_pieces) handle(true);
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

// With `body_follows` a body in pieces is still to come.
void Connection::handle(bool body_follows) {
  set_arriving(false);
  ++serial_;
  handling_ = true;
  started_ = false;
  body_open_ = body_follows;
  keep_alive_ = parser_.keep_alive();
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  body_patience_ = {};
  if (found.handler != nullptr && found.handler->pieces()) {
    std::string none;
    const ServerRequest head = request(found, none);
    run([&] {
      found.handler->pieces()(head, Exchange(shared_from_this(), serial_),
                              RequestBody(shared_from_this(), serial_));
    });
    return;
  }
  const Handler::Whole* whole = found.handler == nullptr ? nullptr : &found.handler->whole();
  if (whole == nullptr && parser_.method() == "OPTIONS" && host_.options().on_options)
    whole = &host_.options().on_options;
  run([&] {
    if (whole != nullptr) {
      (*whole)(request(found, parser_.body()), Exchange(shared_from_this(), serial_));
    } else {
      send(serial_, reply_without_handler(found.allowed));
    }
  });
}

ServerRequest Connection::request(const Routes<Handler>::Found& found, std::string& body) const {
  return {.method = parser_.method(),
          .path = parser_.path(),
          .query = parser_.query(),
          .parts = found.parts,
          .peer = peer_,
          .headers = parser_.headers(),
          .body = body,
          .gzip = parser_.is_gzip()};
}

// --- a body in pieces ---------------------------------------------------------------------------

void Connection::next_piece(uint64_t serial, std::function<void(BodyPiece)> taken) {
  if (!is_open(serial)) return taken({.state = BodyPiece::State::kBroken});
  taken_ = std::move(taken);
  body_patience_.wait_begins(host_.now());
  if (!body_open_) {
    tell_piece(BodyPiece::State::kEnd);
  } else if (host_.stopping()) {
    break_body(503, kStopping);
  }
  if (!in_handler_) process({});
}

// What has come of it, to the one who waits; false: nothing has.
bool Connection::tell_piece(BodyPiece::State state) {
  std::string bytes = std::exchange(parser_.body(), {});
  if (state == BodyPiece::State::kMore && bytes.empty()) return false;
  body_patience_.came(host_.now(), bytes.size());
  if (state == BodyPiece::State::kEnd) body_open_ = false;
  const auto taken = std::exchange(taken_, nullptr);
  run([&] { taken({.state = state, .bytes = std::move(bytes)}); });
  return true;
}

// It cannot be read to its end, and the client is told so if nothing else has been said.
void Connection::break_body(int status, std::string_view message) {
  body_open_ = false;
  if (started_) {
    end_ = End::kReset;
  } else {
    refuse(error_reply(status, message, true));
  }
  handling_ = false;
  const auto taken = std::exchange(taken_, nullptr);
  forget_calls();
  run([&] { taken({.state = BodyPiece::State::kBroken, .status = started_ ? 0 : status}); });
}

ServerReply Connection::reply_without_handler(const std::string& allowed) const {
  const std::string path = shown(parser_.path());
  const std::string method = shown(parser_.method());
  if (allowed.empty()) {
    const std::string_view near = host_.routes().similar(parser_.path());
    return error_reply(
        404, near.empty() ? fmt::format("there is nothing at {}", path)
                          : fmt::format("there is nothing at {}; did you mean {}?", path, near));
  }
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
  since_ = host_.now();
  if (body_open_) {  // nobody wants the rest of it
    body_open_ = false;
    unheard_ = true;
    if (end_ == End::kNone) end_ = End::kClose;
  }
  parser_.next();
  // An answer in pieces may have begun before the server was stopped.
  if ((!keep_alive_ || host_.stopping()) && end_ == End::kNone) end_ = End::kClose;
}

// --- bytes out --------------------------------------------------------------------------------

void Connection::flush() {
  if (!open_) return;
  count_unsent();
  if (wait_write_) return;
  while (!out_.empty()) {
    const Transport::Moved moved = transport_->write(out_.unsent());
    if (moved.state == Transport::State::kWaitReadable ||
        moved.state == Transport::State::kWaitWritable) {
      wait_to_write(moved.state);
      count_unsent();
      return look_at_drain();
    }
    if (moved.state != Transport::State::kMoved) return cut_off();
    out_.sent(moved.bytes);
    wrote_at_ = host_.now();
  }
  count_unsent();
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
  since_ = heard_at_ = host_.now();
  if (!transport_->end_sending()) return close();
  wait_readable();
}

// --- the end ----------------------------------------------------------------------------------

bool Connection::is_overdue(TimePoint now) const {
  if (!open_) return false;
  const ServerOptions& options = host_.options();
  if (lingering_) {
    return now - heard_at_ > kLingerTime ||
           now - since_ > (host_.stopping() ? kLingerTime : options.request_time);
  }
  if (!out_.empty()) return now - wrote_at_ > options.write_time;
  // An answer takes as long as it takes.
  if (handling_) return taken_ && body_patience_.is_over(now, options.request_time);
  if (arriving_ || !transport_->is_ready()) return now - since_ > options.request_time;
  return now - since_ > host_.idle_time();
}

void Connection::end_overdue() {
  if (!open_) return;
  if (!lingering_ && out_.empty() && (arriving_ || taken_)) {
    if (arriving_) {
      refuse(408, kTooSlow);
    } else {
      break_body(408, kTooSlow);
    }
    return flush();
  }
  if (!out_.empty()) end_ = End::kReset;
  cut_off();
}

void Connection::stop() {
  if (!open_) return;
  if (lingering_ ? !unheard_ : resting()) return close();
  if (lingering_) return;
  if (end_ != End::kNone) return;
  // Who sends slowly, or has stopped in the middle, would be waited for as long as may be.
  if (handling_ && taken_) {
    break_body(503, kStopping);
  } else if (!handling_ && arriving_) {
    refuse(503, kStopping);
  }
  flush();
}

void Connection::drop() {
  end_ = End::kReset;
  cut_off();
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
  host_.count_unsent(-static_cast<int64_t>(unsent_counted_));
  unsent_counted_ = 0;
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
  if (const auto taken = std::exchange(taken_, nullptr))
    run([&] { taken({.state = BodyPiece::State::kBroken}); });
}

}  // namespace windrow::http
