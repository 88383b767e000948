#include "http/server_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/server_core.h"

namespace windrow::http {

bool ConnectionOutput::has_room_for(size_t bytes) const {
  return held_bytes() + bytes <= kUnsentUnasked || server_.make_unsent_room(bytes, connection_);
}

void ConnectionOutput::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (empty()) progress_at_ = server_.now();
  buffer_.append(bytes);
}

void ConnectionOutput::take(std::string bytes) {
  if (empty()) progress_at_ = server_.now();
  buffer_.take(std::move(bytes));
}

void ConnectionOutput::count() {
  if (released_) return;
  const size_t held = held_bytes();
  server_.count_unsent(static_cast<int64_t>(held) - static_cast<int64_t>(counted_));
  counted_ = held;
}

void ConnectionOutput::release() {
  released_ = true;
  server_.count_unsent(-static_cast<int64_t>(counted_));
  counted_ = 0;
  drained_ = nullptr;
}

ConnectionOutput::Sent ConnectionOutput::send_to(Transport& transport) {
  while (!empty()) {
    const Transport::Moved moved = transport.write(buffer_.unsent());
    switch (moved.state) {
      case Transport::State::kMoved:
        buffer_.sent(moved.bytes);
        progress_at_ = server_.now();
        break;
      case Transport::State::kWaitReadable:
        return Sent::kWaitReadable;
      case Transport::State::kWaitWritable:
        return Sent::kWaitWritable;
      case Transport::State::kEnded:
      case Transport::State::kBroken:
      case Transport::State::kNotTls:
        return Sent::kBroken;
    }
  }
  return Sent::kAll;
}

void ConnectionOutput::on_drained(size_t threshold, std::function<void()> drained) {
  drained_ = std::move(drained);
  drained_threshold_ = threshold;
}

std::string_view BodyFraming::begin(std::optional<uint64_t> body_bytes, bool is_http_1_0) {
  begun_ = true;
  body_left_ = body_bytes;
  chunked_ = !body_bytes && !is_http_1_0;
  return chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
}

void BodyFraming::cut(std::string& bytes) {
  if (!body_left_) return;
  bytes.resize(static_cast<size_t>(std::min<uint64_t>(*body_left_, bytes.size())));
  *body_left_ -= bytes.size();
}

void BodyFraming::write(std::string bytes, ConnectionOutput& output) const {
  if (chunked_) output.append(fmt::format("{:x}\r\n", bytes.size()));
  output.take(std::move(bytes));
  if (chunked_) output.append("\r\n");
}

}  // namespace windrow::http
