// The answer of a Connection, as exchanges give it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "http/reply_head.h"
#include "http/server_connection.h"

namespace windrow::http {

void Connection::append(std::string_view bytes) {
  if (out_.empty()) wrote_at_ = host_.now();
  out_.append(bytes);
}

void Connection::append_head(std::string_view head) {
  if (host_.stopping() || body_open_) keep_alive_ = false;
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
  taken_ = nullptr;
}

}  // namespace windrow::http
