// The answer of a Connection, as exchanges give it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "http/reply_head.h"
#include "http/server_connection.h"
#include "http/unsent_room.h"

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

void Connection::append_reply(std::string_view head, std::string body) {
  append_head(head);
  out_.append("\r\n");
  if (!parser_.is_head()) out_.take(std::move(body));
  count_unsent();
}

void Connection::count_unsent() {
  if (!open_) return;
  const size_t held = out_.held_bytes();
  host_.count_unsent(static_cast<int64_t>(held) - static_cast<int64_t>(unsent_counted_));
  unsent_counted_ = held;
}

// Whether so much more may lie here.
bool Connection::has_room_for(size_t bytes) {
  return out_.held_bytes() + bytes <= kUnsentUnasked || host_.make_unsent_room(bytes, *this);
}

bool Connection::make_room(uint64_t serial, size_t bytes) {
  return !is_open(serial) || has_room_for(bytes);
}

ServerReply Connection::no_room_reply() const {
  ServerReply reply = error_reply(503,
                                  "the answers that clients have not taken yet fill the memory "
                                  "there is for them; ask again in a few seconds, and for less at "
                                  "once",
                                  true);
  reply.headers.set("Retry-After", "2");
  return reply;
}

void Connection::send(uint64_t serial, ServerReply reply) {
  if (!is_open(serial) || started_) return;
  with_memory([&] { send_reply(serial, std::move(reply)); });
}

void Connection::send_reply(uint64_t serial, ServerReply reply) {
  if (!has_body(reply.status)) reply.body.clear();
  if (!has_room_for(reply.body.size())) reply = no_room_reply();
  const std::string head =
      reply_head(reply.status, reply.content_type, reply.headers, reply.body.size());
  append_reply(head, std::move(reply.body));
  finish(serial);
}

void Connection::send(uint64_t serial, const PreparedReply& reply) {
  if (!is_open(serial) || started_) return;
  with_memory([&] {
    if (!has_room_for(reply.body_.size())) return send_reply(serial, no_room_reply());
    append_reply(reply.head_, reply.body_);
    finish(serial);
  });
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

void Connection::write(uint64_t serial, std::string bytes) {
  if (!is_open(serial) || !started_ || parser_.is_head()) return;
  if (body_left_) {
    bytes.resize(static_cast<size_t>(std::min<uint64_t>(*body_left_, bytes.size())));
    *body_left_ -= bytes.size();
  }
  if (bytes.empty()) return;  // as a chunk it would be the last
  with_memory([&] { write_bytes(std::move(bytes)); });
}

void Connection::write_bytes(std::string bytes) {
  if (!has_room_for(bytes.size())) return drop();
  if (out_.empty()) wrote_at_ = host_.now();
  if (chunked_) out_.append(fmt::format("{:x}\r\n", bytes.size()));
  out_.take(std::move(bytes));
  if (chunked_) out_.append("\r\n");
  if (out_.size() > host_.options().unsent_bytes_max) return drop();
  if (in_handler_) return count_unsent();
  flush();
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
