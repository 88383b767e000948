#include "http/server_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/status.hpp>
#include <exception>
#include <iterator>
#include <utility>

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

// A buffer beyond this is given back once it is empty.
constexpr size_t kBufferKept = size_t{256} * 1024;

void clear_buffer(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kBufferKept) buffer.shrink_to_fit();
}

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

bool are_writable(const Headers& headers) {
  for (const Headers::Field field : headers) {
    if (!is_header_name(field.name) || !is_header_value(field.value)) return false;
  }
  return true;
}

}  // namespace

std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       std::optional<uint64_t> body_bytes) {
  if (!are_writable(headers)) return reply_head(500, content_type, {}, body_bytes);
  const boost::beast::string_view reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", status, std::string_view(reason.data(), reason.size()));
  if (!content_type.empty()) head += fmt::format("Content-Type: {}\r\n", content_type);
  for (const Headers::Field field : headers)
    head.append(field.name).append(": ").append(field.value).append("\r\n");
  if (body_bytes && has_body(status)) head += fmt::format("Content-Length: {}\r\n", *body_bytes);
  return head;
}

PreparedReply::PreparedReply(const ServerReply& reply)
    : head_(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size())),
      body_(has_body(reply.status) ? reply.body : "") {}

Connection::Connection(asio::ip::tcp::socket socket, Loop& loop, ConnectionHost& host)
    : socket_(std::move(socket)), loop_(loop), host_(host), parser_(host.options().request) {}

void Connection::begin() {
  since_ = host_.now();
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  wait_readable();
}

// --- bytes in ---------------------------------------------------------------------------------

// Waiting and then reading, not reading asynchronously: connections that wait hold no buffer.
void Connection::wait_readable() {
  if (!open_ || wait_read_) return;
  if (!lingering_ && (end_ != End::kNone || waiting_.size() >= kWaitingMax)) return;
  wait_read_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const ErrorCode& error) {
                       self->wait_read_ = false;
                       if (self->open_ && !error) self->readable();
                     });
}

void Connection::readable() {
  const std::span<char> buffer = host_.read_buffer();
  ErrorCode error;
  const size_t bytes = socket_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
  if (error == asio::error::would_block) return wait_readable();
  if (error) return cut_off();
  if (lingering_) return wait_readable();  // too late to say anything
  process(std::string_view(buffer.data(), bytes));
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
         out_.size() - sent_ < kPipelinedMax) {
    if (!request_begun_) {
      request_begun_ = true;
      since_ = host_.now();
    }
    size_t consumed = 0;
    const RequestParser::State state = parser_.feed(bytes, consumed);
    bytes.remove_prefix(consumed);
    if (state == RequestParser::State::kWantsMore) {
      if (parser_.take_expectation()) {
        if (!unsent()) wrote_at_ = since_;
        out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      }
      break;
    }
    if (state == RequestParser::State::kFailed) {
      refuse(parser_.failure_status(), parser_.failure());
      break;
    }
    handle();
  }
  return end_ == End::kNone ? bytes : std::string_view();
}

// --- a request --------------------------------------------------------------------------------

void Connection::handle() {
  ++serial_;
  handling_ = true;
  started_ = false;
  keep_alive_ = parser_.keep_alive();
  const Routes<Handler>::Found found = host_.routes().find(parser_.method(), parser_.path());
  in_handler_ = true;
  if (found.handler != nullptr) {
    const ServerRequest request{.method = parser_.method(),
                                .path = parser_.path(),
                                .query = parser_.query(),
                                .parts = found.parts,
                                .headers = parser_.headers(),
                                .body = parser_.body()};
    try {
      (*found.handler)(request, Exchange(shared_from_this(), serial_));
    } catch (const std::exception&) {
      // A defect of the handler ends its request, not the server: its exchange has answered 500.
    }
  } else if (!found.allowed.empty()) {
    ServerReply reply = error_reply(
        405, fmt::format("{} takes {}, not {}", parser_.path(), found.allowed, parser_.method()));
    reply.headers.add("Allow", found.allowed);
    send(serial_, reply);
  } else {
    send(serial_, error_reply(404, fmt::format("there is nothing at {}", parser_.path())));
  }
  in_handler_ = false;
  if (open_ && !handling_) answered();
}

ServerReply Connection::error_reply(int status, std::string_view message) const {
  if (host_.options().make_error) return host_.options().make_error(status, message);
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = fmt::format("{}\n", message)};
}

// The answer to what cannot be read on: the connection ends with it.
void Connection::refuse(int status, std::string_view message) {
  const ServerReply reply = error_reply(status, message);
  keep_alive_ = false;
  request_begun_ = false;
  append_reply(reply_head(reply.status, reply.content_type, reply.headers, reply.body.size()),
               reply.body);
  end_ = End::kClose;
}

// The answer is complete, and the handler has returned.
void Connection::answered() {
  parser_.next();
  request_begun_ = false;
  since_ = host_.now();
  // An answer in pieces may have begun before the server was stopped.
  if ((!keep_alive_ || host_.stopping()) && end_ == End::kNone) end_ = End::kClose;
}

// --- an answer --------------------------------------------------------------------------------

void Connection::append_head(std::string_view head) {
  if (!unsent()) wrote_at_ = host_.now();
  if (host_.stopping()) keep_alive_ = false;
  out_.append(head);
  out_.append("Date: ").append(host_.date()).append("\r\n");
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
  if (!unsent()) wrote_at_ = host_.now();
  if (chunked_) fmt::format_to(std::back_inserter(out_), "{:x}\r\n", bytes.size());
  out_.append(bytes);
  if (chunked_) out_.append("\r\n");
  if (out_.size() - sent_ > host_.options().unsent_bytes_max) {
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
    if (chunked_) out_.append("0\r\n\r\n");
  }
  handling_ = false;
  gone_ = nullptr;
  if (in_handler_) return;  // handle() goes on
  answered();
  process({});
}

void Connection::reset(uint64_t serial) {
  if (!is_open(serial)) return;
  handling_ = false;
  gone_ = nullptr;
  end_ = End::kReset;
  if (!in_handler_) flush();
}

void Connection::abandon(uint64_t serial) {
  if (!is_open(serial)) return;
  if (started_) return reset(serial);
  send(serial, error_reply(500, "the request was given up"));
}

void Connection::on_disconnect(uint64_t serial, std::function<void()> gone) {
  if (is_open(serial)) {
    gone_ = std::move(gone);
  } else if (!open_ && handling_ && serial == serial_) {
    gone();
  }
}

// --- bytes out --------------------------------------------------------------------------------

void Connection::flush() {
  if (!open_ || wait_write_) return;
  while (unsent()) {
    ErrorCode error;
    const size_t bytes =
        socket_.write_some(asio::buffer(out_.data() + sent_, out_.size() - sent_), error);
    if (error == asio::error::would_block) return wait_writable();
    if (error) return cut_off();
    sent_ += bytes;
    wrote_at_ = host_.now();
  }
  drained();
}

void Connection::wait_writable() {
  wait_write_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](const ErrorCode& error) {
                       self->wait_write_ = false;
                       if (!self->open_ || error) return;
                       self->flush();
                       // Requests may have waited for room.
                       if (self->open_ && !self->unsent() && !self->waiting_.empty())
                         self->process({});
                     });
}

void Connection::drained() {
  clear_buffer(out_);
  sent_ = 0;
  if (end_ == End::kNone || handling_) return;
  if (end_ == End::kReset) return close();
  if (lingering_) return;
  lingering_ = true;
  since_ = host_.now();
  clear_buffer(waiting_);
  ErrorCode error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  if (error) return close();
  wait_readable();
}

// --- the end ----------------------------------------------------------------------------------

bool Connection::is_overdue(TimePoint now) const {
  if (!open_) return false;
  const ServerOptions& options = host_.options();
  if (lingering_) return now - since_ > kLingerTime;
  if (unsent()) return now - wrote_at_ > options.write_time;
  if (handling_) return false;  // it takes as long as it takes
  return now - since_ > (request_begun_ ? options.request_time : options.idle_time);
}

void Connection::end_overdue() {
  if (!open_) return;
  if (!lingering_ && !unsent() && request_begun_) {
    refuse(408, "the request took too long to come");
    flush();
    return;
  }
  if (unsent()) end_ = End::kReset;
  cut_off();
}

void Connection::stop() {
  if (open_ && !lingering_ && resting()) close();
}

void Connection::cut_off() {
  if (!open_) return;
  close();
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  const auto self = shared_from_this();  // the server lets go of us
  ErrorCode ignored;
  // Without it the system would go on sending; with it the client sees a broken connection.
  if (end_ == End::kReset) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  host_.closed(*this);
}

}  // namespace windrow::http
