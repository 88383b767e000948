#include "http/server_connection.h"

#include <limits>
#include <utility>

namespace windrow::http {

namespace asio = boost::asio;

namespace {

// How far a client is read that sends more while its request is being answered.
constexpr size_t kUnparsedMax = size_t{64} * 1024;

// While a client has not taken so many bytes of answers, no further pipelined request is begun.
constexpr size_t kPipelinedMax = size_t{256} * 1024;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kTooSlow = "the request took too long to come";
constexpr std::string_view kStopping = "the server is being stopped; try again later";

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ServerCore& server)
    : socket_(std::move(socket)),
      server_(server),
      loop_(server.loop()),
      transport_(server.make_transport(socket_)),
      peer_(address_text(socket_)),
      parser_(server.options().request),
      refusals_(server.options(), server.routes(), parser_, peer_),
      arriving_(server),
      output_(server, *this) {}

void Connection::begin() {
  since_ = server_.now();
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  set_server_socket_options(socket_, kUnsentInSystem);
  wait_readable();
}

// --- bytes in ---------------------------------------------------------------------------------

void Connection::wait_readable() {
  if (!open_ || waiting_to_read_) return;
  if (!linger_.begun() && (end_ != End::kNone || unparsed_.size() >= kUnparsedMax)) return;
  wait_to_read(Transport::State::kWaitReadable);
}

// Waits and then reads, instead of reading asynchronously: idle connections hold no buffer.
void Connection::wait_to_read(Transport::State state) {
  waiting_to_read_ = true;
  const auto what = state == Transport::State::kWaitWritable ? asio::ip::tcp::socket::wait_write
                                                             : asio::ip::tcp::socket::wait_read;
  socket_.async_wait(what, [self = shared_from_this()](const ErrorCode& error) {
    self->waiting_to_read_ = false;
    if (self->open_ && !error) self->with_memory([&] { self->on_readable(); });
  });
}

void Connection::on_readable() {
  const std::span<char> buffer = server_.read_buffer();
  const Transport::Moved moved = transport_->read(buffer);
  switch (moved.state) {
    case Transport::State::kWaitReadable:
    case Transport::State::kWaitWritable:
      return wait_to_read(moved.state);
    case Transport::State::kEnded:
      return on_client_ended();
    case Transport::State::kBroken:
      return cut_off();
    case Transport::State::kNotTls:
      transport_ = std::make_unique<PlainTransport>(socket_);
      refuse(400, "this port speaks TLS: ask again with https:// instead of http://");
      return flush();
    case Transport::State::kMoved:
      break;
  }
  if (linger_.begun()) {  // too late to answer
    has_unread_ = true;
    linger_.heard(server_.now());
    return wait_readable();
  }
  process(std::string_view(buffer.data(), moved.bytes));
}

// The client sends no more. It still gets complete answers; one that is in the making is unwanted.
void Connection::on_client_ended() {
  if (handling_ || linger_.begun() || output_.empty()) return cut_off();
  arriving_.end();
  unparsed_.clear();
  end_ = End::kClose;
}

// Does everything that is possible with the bytes that arrived.
void Connection::process(std::string_view bytes) {
  if (unparsed_.empty()) {
    unparsed_ = take_requests(bytes);
  } else {
    unparsed_ += bytes;
    // A handler may be called, and its views must stay valid.
    std::string all = std::exchange(unparsed_, {});
    const size_t left = take_requests(all).size();
    all.erase(0, all.size() - left);
    unparsed_ = std::move(all);
  }
  if (!open_) return;
  if (on_piece_ && !framing_.begun() && parser_.take_expectation()) output_.append(kContinue);
  flush();
  wait_readable();
  process_when_sent();
}

// Goes on with unparsed_ where the system took all answers at once, so that no socket will become
// writable. By way of the loop: other connections get their turn, and the stack does not grow.
void Connection::process_when_sent() {
  if (!open_ || !answers_are_full_ || process_posted_ || !output_.empty()) return;
  process_posted_ = true;
  loop_.post([self = shared_from_this()] {
    self->process_posted_ = false;
    if (self->open_) self->process({});
  });
}

// Whether too many answers to pipelined requests are untaken; in a server without room, any are.
bool Connection::is_full_of_answers() const {
  return output_.size() >= kPipelinedMax || (!output_.empty() && !server_.has_unsent_room());
}

// Parses until a handler has to answer first or more bytes are needed. Returns what is left.
std::string_view Connection::take_requests(std::string_view bytes) {
  answers_are_full_ = false;
  while (open_ && end_ == End::kNone && !bytes.empty()) {
    if (handling_ && !on_piece_) break;
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
      } else if (!deliver_piece(state == RequestParser::State::kDone ? BodyPiece::State::kEnd
                                                                     : BodyPiece::State::kMore)) {
        break;
      }
    } else if (state == RequestParser::State::kWantsMore) {
      wait_for_more(bytes);
      break;
    } else if (state == RequestParser::State::kFailed) {
      refuse(parser_.failure_status(), parser_.failure());
    } else if (state == RequestParser::State::kHead) {
      begin_body();
      if (bytes.empty() && !handling_ && end_ == End::kNone) wait_for_more(bytes);
    } else {
      handle();
    }
  }
  if (end_ == End::kNone) return bytes;
  has_unread_ = has_unread_ || !bytes.empty();
  return {};
}

// The request is not complete; the parser has not consumed `left` of it.
void Connection::wait_for_more(std::string_view left) {
  if (left.empty() && !parser_.begun()) return;
  if (arriving_.begin()) since_ = server_.now();
  arriving_.count_body(parser_.body().size());
  if (arriving_.body_bytes() > 0 && server_.has_too_many_arriving_bytes())
    return refuse(refusals_.too_much_arriving());
  const bool asks = parser_.take_expectation();
  const bool is_long =
      parser_.content_length().value_or(0) > kBodyUnasked || parser_.body().size() > kBodyUnasked;
  if ((asks || is_long) && !check_head()) return;
  if (asks) output_.append(kContinue);
}

// Whether the body is worth waiting for; if not, the request was refused.
bool Connection::check_head() {
  if (head_checked_) return true;
  head_checked_ = true;
  const Routes<Handler>::Found found = server_.routes().find(parser_.method(), parser_.path());
  if (found.handler == nullptr) {
    if (parser_.method() == "OPTIONS" && server_.options().on_options) return true;
    refuse(refusals_.without_handler(found.allowed));
    return false;
  }
  if (!server_.options().at_head) return true;
  std::string none;
  ServerRequest head = request(found, none);
  const std::optional<ServerReply> refusal = server_.options().at_head(head);
  if (refusal) refuse(*refusal);
  return !refusal;
}

// The head is complete, and a body follows.
void Connection::begin_body() {
  head_checked_ = false;
  const Routes<Handler>::Found found = server_.routes().find(parser_.method(), parser_.path());
  if (parser_.is_gzip() && found.handler != nullptr && !found.handler->takes_gzip())
    return refuse(415, "this body must not be packed: send it without Content-Encoding");
  const bool in_pieces = found.handler != nullptr && found.handler->pieces() != nullptr;
  const uint64_t bytes_max =
      in_pieces ? std::numeric_limits<uint64_t>::max() : server_.options().request.body_bytes_max;
  if (parser_.accept_body(bytes_max, in_pieces) == RequestParser::State::kFailed)
    return refuse(parser_.failure_status(), parser_.failure());
  if (in_pieces) handle(true);
}

// --- a request --------------------------------------------------------------------------------

// Calls the handler. `body_follows`: a body in pieces is still to come.
void Connection::handle(bool body_follows) {
  arriving_.end();
  ++serial_;
  handling_ = true;
  framing_ = {};
  body_open_ = body_follows;
  keep_alive_ = parser_.keep_alive();
  const Routes<Handler>::Found found = server_.routes().find(parser_.method(), parser_.path());
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
  if (whole == nullptr && parser_.method() == "OPTIONS" && server_.options().on_options)
    whole = &server_.options().on_options;
  run([&] {
    if (whole != nullptr) {
      (*whole)(request(found, parser_.body()), Exchange(shared_from_this(), serial_));
    } else {
      send(serial_, refusals_.without_handler(found.allowed));
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

void Connection::next_piece(uint64_t serial, std::function<void(BodyPiece)> on_piece) {
  if (!is_open(serial)) return on_piece({.state = BodyPiece::State::kBroken});
  on_piece_ = std::move(on_piece);
  body_patience_.wait_begins(server_.now());
  if (!body_open_) {
    deliver_piece(BodyPiece::State::kEnd);
  } else if (server_.stopping()) {
    break_body(503, kStopping);
  }
  if (!in_handler_) process({});
}

// Gives the bytes that arrived to the waiting handler. False: there are none.
bool Connection::deliver_piece(BodyPiece::State state) {
  std::string bytes = std::exchange(parser_.body(), {});
  if (state == BodyPiece::State::kMore && bytes.empty()) return false;
  body_patience_.came(server_.now(), bytes.size());
  if (state == BodyPiece::State::kEnd) body_open_ = false;
  const auto on_piece = std::exchange(on_piece_, nullptr);
  run([&] { on_piece({.state = state, .bytes = std::move(bytes)}); });
  return true;
}

// The body cannot be read to its end; the client is told unless an answer has begun.
void Connection::break_body(int status, std::string_view message) {
  body_open_ = false;
  if (framing_.begun()) {
    end_ = End::kReset;
  } else {
    refuse(refusals_.error(status, message, true));
  }
  handling_ = false;
  const auto on_piece = std::exchange(on_piece_, nullptr);
  forget_callbacks();
  run([&] {
    on_piece({.state = BodyPiece::State::kBroken, .status = framing_.begun() ? 0 : status});
  });
}

// The answer is complete, and the handler has returned.
void Connection::request_ended() {
  since_ = server_.now();
  if (body_open_) {  // the handler left the rest unread
    body_open_ = false;
    has_unread_ = true;
    if (end_ == End::kNone) end_ = End::kClose;
  }
  parser_.next();
  // An answer in pieces may have begun before the server was stopped.
  if ((!keep_alive_ || server_.stopping()) && end_ == End::kNone) end_ = End::kClose;
}

// --- the answer --------------------------------------------------------------------------------

void Connection::append_head(std::string_view head) {
  if (server_.stopping() || body_open_) keep_alive_ = false;
  output_.append(head);
  output_.append(server_.common_lines());
  if (server_.options().more_headers) {
    Headers more;
    server_.options().more_headers(parser_.headers(), more);
    if (are_writable(more)) output_.append(header_lines(more));
  }
  if (!keep_alive_) {
    output_.append("Connection: close\r\n");
  } else if (parser_.is_http_1_0()) {
    output_.append("Connection: keep-alive\r\n");
  }
}

void Connection::append_reply(std::string_view head, std::string body) {
  append_head(head);
  output_.append("\r\n");
  if (!parser_.is_head()) output_.take(std::move(body));
  output_.count();
}

// Answers what cannot be read on; the connection ends with that.
void Connection::refuse(const ServerReply& reply) {
  keep_alive_ = false;
  arriving_.end();
  append_reply(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size()),
               reply.body);
  end_ = End::kClose;
  has_unread_ = true;
}

bool Connection::make_room(uint64_t serial, size_t bytes) {
  return !is_open(serial) || output_.has_room_for(bytes);
}

void Connection::send(uint64_t serial, ServerReply reply) {
  if (!is_open(serial) || framing_.begun()) return;
  with_memory([&] { send_reply(serial, std::move(reply)); });
}

void Connection::send_reply(uint64_t serial, ServerReply reply) {
  if (!has_body(reply.status)) reply.body.clear();
  if (!output_.has_room_for(reply.body.size())) reply = refusals_.too_much_unsent();
  const std::string head =
      reply_head(reply.status, reply.content_type, reply.headers, reply.body.size());
  append_reply(head, std::move(reply.body));
  finish(serial);
}

void Connection::send(uint64_t serial, const PreparedReply& reply) {
  if (!is_open(serial) || framing_.begun()) return;
  with_memory([&] {
    if (!output_.has_room_for(reply.body_.size()))
      return send_reply(serial, refusals_.too_much_unsent());
    append_reply(reply.head_, reply.body_);
    finish(serial);
  });
}

void Connection::start(uint64_t serial, int status, const Headers& headers,
                       std::optional<uint64_t> body_bytes) {
  if (!is_open(serial) || framing_.begun()) return;
  const std::string_view head_end = framing_.begin(body_bytes, parser_.is_http_1_0());
  if (!body_bytes && parser_.is_http_1_0()) keep_alive_ = false;  // its end is the connection's
  append_head(reply_head(status, "", headers, body_bytes));
  output_.append(head_end);
  if (!in_handler_) flush();
}

void Connection::write(uint64_t serial, std::string bytes) {
  if (!is_open(serial) || !framing_.begun() || parser_.is_head()) return;
  framing_.cut(bytes);
  if (bytes.empty()) return;  // an empty chunk would end the body
  with_memory([&] { write_piece(std::move(bytes)); });
}

void Connection::write_piece(std::string bytes) {
  if (!output_.has_room_for(bytes.size())) return drop();
  framing_.write(std::move(bytes), output_);
  if (output_.size() > server_.options().unsent_bytes_max) return drop();
  if (in_handler_) return output_.count();
  flush();
}

void Connection::finish(uint64_t serial) {
  if (!is_open(serial)) return;
  if (framing_.begun() && !parser_.is_head()) {
    // Only a broken connection tells the client that bytes are missing.
    if (framing_.is_short()) return reset(serial);
    output_.append(framing_.end());
  }
  handling_ = false;
  forget_callbacks();
  if (in_handler_) return;  // run() goes on
  request_ended();
  process({});
}

void Connection::reset(uint64_t serial) {
  if (!is_open(serial)) return;
  handling_ = false;
  forget_callbacks();
  end_ = End::kReset;
  if (!in_handler_) flush();
}

void Connection::abandon(uint64_t serial) {
  if (!is_open(serial)) return;
  if (framing_.begun()) return reset(serial);
  send(serial, refusals_.error(500, "the request was given up", true));
}

void Connection::on_disconnect(uint64_t serial, std::function<void()> gone) {
  if (is_open(serial)) {
    on_disconnect_ = std::move(gone);
  } else if (!open_ && handling_ && serial == serial_) {
    gone();
  }
}

void Connection::on_drained(uint64_t serial, size_t threshold, std::function<void()> drained) {
  if (!is_open(serial)) return;
  output_.on_drained(threshold, std::move(drained));
  post_if_drained();
}

void Connection::forget_callbacks() {
  on_disconnect_ = nullptr;
  output_.on_drained(0, nullptr);
  on_piece_ = nullptr;
}

// --- bytes out --------------------------------------------------------------------------------

void Connection::flush() {
  if (!open_) return;
  output_.count();
  if (waiting_to_write_) return;
  const ConnectionOutput::Sent sent = output_.send_to(*transport_);
  if (sent == ConnectionOutput::Sent::kBroken) return cut_off();
  if (sent != ConnectionOutput::Sent::kAll) wait_to_write(sent);
  output_.count();
  post_if_drained();
  if (sent == ConnectionOutput::Sent::kAll) all_sent();
}

void Connection::wait_to_write(ConnectionOutput::Sent sent) {
  waiting_to_write_ = true;
  const auto what = sent == ConnectionOutput::Sent::kWaitReadable
                        ? asio::ip::tcp::socket::wait_read
                        : asio::ip::tcp::socket::wait_write;
  socket_.async_wait(what, [self = shared_from_this()](const ErrorCode& error) {
    self->waiting_to_write_ = false;
    if (!self->open_ || error) return;
    self->flush();
    // Requests may have waited for room.
    if (self->open_ && self->output_.empty() && !self->unparsed_.empty()) self->process({});
  });
}

// By way of the loop: the callback writes more, and would be called again from within that write.
void Connection::post_if_drained() {
  if (drain_posted_ || !output_.is_drained()) return;
  drain_posted_ = true;
  loop_.post([self = shared_from_this()] {
    self->drain_posted_ = false;
    if (self->open_ && self->output_.is_drained()) self->output_.take_drained()();
  });
}

void Connection::all_sent() {
  if (end_ == End::kNone || handling_) return;
  if (end_ == End::kReset) return close();
  if (linger_.begun()) return;
  unparsed_ = {};
  if (server_.stopping() && !has_unread_) return close();
  linger_.begin(server_.now());
  if (!transport_->end_sending()) return close();
  wait_readable();
}

// --- the end ----------------------------------------------------------------------------------

bool Connection::is_overdue(TimePoint now) const {
  if (!open_) return false;
  const ServerOptions& options = server_.options();
  if (linger_.begun()) {
    return linger_.is_over(now, server_.stopping() ? LingeringClose::kPause : options.request_time);
  }
  if (!output_.empty()) return now - output_.progress_at() > options.write_time;
  // The time of an answer has no limit here.
  if (handling_) return on_piece_ && body_patience_.is_over(now, options.request_time);
  if (arriving_.begun() || !transport_->is_ready()) return now - since_ > options.request_time;
  return now - since_ > server_.idle_time();
}

void Connection::end_overdue() {
  if (!open_) return;
  if (!linger_.begun() && output_.empty() && (arriving_.begun() || on_piece_)) {
    if (arriving_.begun()) {
      refuse(408, kTooSlow);
    } else {
      break_body(408, kTooSlow);
    }
    return flush();
  }
  if (!output_.empty()) end_ = End::kReset;
  cut_off();
}

void Connection::stop() {
  if (!open_) return;
  if (linger_.begun() ? !has_unread_ : is_idle()) return close();
  if (linger_.begun()) return;
  if (end_ != End::kNone) return;
  // A client that sends slowly, or has stopped in the middle, would delay the stop to its deadline.
  if (handling_ && on_piece_) {
    break_body(503, kStopping);
  } else if (!handling_ && arriving_.begun()) {
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
  if (const auto gone = std::exchange(on_disconnect_, nullptr)) gone();
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  arriving_.end();
  output_.release();
  const auto self = shared_from_this();  // the server's may be the last reference
  ErrorCode ignored;
  if (end_ == End::kReset) {
    // Makes close() send a reset: the system does not go on sending, and the client sees an error.
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  } else {
    transport_->end_sending();
  }
  socket_.close(ignored);
  server_.closed(*this);
  if (const auto on_piece = std::exchange(on_piece_, nullptr))
    run([&] { on_piece({.state = BodyPiece::State::kBroken}); });
}

}  // namespace windrow::http
