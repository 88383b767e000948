// The sending half of a server's connection: answers as bytes that the client has not taken yet,
// counted in the server's memory, and how a body in pieces is framed. On the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/transport.h"

namespace windrow::http {

class Connection;
class ServerCore;

// Bytes that wait to be sent. Memory follows what has not left yet: a reader that is always a
// little behind does not make sent bytes stay. Not thread-safe.
class OutBuffer {
 public:
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    if (!last_is_open_) {
      pieces_.emplace_back();
      last_is_open_ = true;
    }
    pieces_.back().append(bytes);
    held_ += bytes.size();
  }

  // Like append(), without copying a large text.
  void take(std::string bytes) {
    if (bytes.size() < kTakenMin) return append(bytes);
    if (empty()) clear();  // an empty piece may be kept
    held_ += bytes.size();
    pieces_.push_back(std::move(bytes));
    last_is_open_ = false;
  }

  // The front of the unsent bytes, not empty while there are any. Valid until the next call; later
  // it begins with the same bytes and is at least as long.
  std::string_view unsent() const {
    if (pieces_.empty()) return {};
    return std::string_view(pieces_.front()).substr(sent_);
  }
  size_t size() const { return held_ - sent_; }
  bool empty() const { return size() == 0; }

  // Bytes in memory for that, sent ones that are not freed yet included.
  size_t held_bytes() const { return held_; }

  // The first `bytes` of unsent() were sent.
  void sent(size_t bytes) {
    if (bytes == 0) return;
    sent_ += bytes;
    std::string& front = pieces_.front();
    if (sent_ == front.size()) {
      held_ -= sent_;
      sent_ = 0;
      if (last_is_open_ && pieces_.size() == 1 && front.capacity() <= kKeptMax) {
        front.clear();  // keeps its memory for the next text
        return;
      }
      pieces_.erase(pieces_.begin());
      if (pieces_.empty()) last_is_open_ = false;
    } else if (sent_ >= kMoveMin && sent_ >= front.size() / 2) {
      // Moves at most as many bytes as were sent since the last time.
      front.erase(0, sent_);
      if (front.capacity() > kShrunkMin) front.shrink_to_fit();
      held_ -= sent_;
      sent_ = 0;
    }
  }

  void clear() {
    pieces_.clear();
    held_ = 0;
    sent_ = 0;
    last_is_open_ = false;
  }

 private:
  static constexpr size_t kMoveMin = size_t{64} * 1024;

  // The memory of a larger piece is freed once it is empty.
  static constexpr size_t kKeptMax = size_t{256} * 1024;

  // The memory of a larger piece is freed while it is being sent.
  static constexpr size_t kShrunkMin = size_t{4} * 1024 * 1024;

  // A text of this size or more becomes a piece of its own.
  static constexpr size_t kTakenMin = size_t{64} * 1024;

  std::vector<std::string> pieces_;  // none is empty, unless it is the only one
  bool last_is_open_ = false;        // the last piece may be appended to
  size_t held_ = 0;                  // bytes of all pieces
  size_t sent_ = 0;                  // bytes of the first piece that were sent
};

// What one connection has to send. Its bytes count as unsent answers of the server until they are
// sent or release() is called.
class ConnectionOutput {
 public:
  ConnectionOutput(ServerCore& server, const Connection& connection)
      : server_(server), connection_(connection) {}

  bool empty() const { return buffer_.empty(); }
  size_t size() const { return buffer_.size(); }
  size_t held_bytes() const { return buffer_.held_bytes(); }

  // When the client last took something, or had taken everything.
  TimePoint progress_at() const { return progress_at_; }

  // Whether `bytes` more may be held; the server makes room where it can.
  bool has_room_for(size_t bytes) const;

  void append(std::string_view bytes);
  void take(std::string bytes);

  // Brings the server's count up to date.
  void count();

  // The connection is closed: nothing counts any more, and the drain callback is dropped.
  void release();

  // Sends as much as the socket takes.
  enum class Sent : uint8_t { kAll, kWaitReadable, kWaitWritable, kBroken };
  Sent send_to(Transport& transport);

  // `drained` is wanted once size() is `threshold` or less; a later call replaces an earlier one.
  // The owner asks is_drained() after each send_to() and calls take_drained() by way of the loop.
  void on_drained(size_t threshold, std::function<void()> drained);
  bool is_drained() const { return drained_ && size() <= drained_threshold_; }
  std::function<void()> take_drained() { return std::exchange(drained_, nullptr); }

 private:
  ServerCore& server_;
  const Connection& connection_;
  OutBuffer buffer_;
  size_t counted_ = 0;  // bytes that the server counts for it
  bool released_ = false;
  TimePoint progress_at_;
  std::function<void()> drained_;
  size_t drained_threshold_ = 0;
};

// How the body of an answer in pieces is framed: by its length, in chunks (RFC 9112, 7.1), or, for
// an HTTP/1.0 client, by the end of the connection.
class BodyFraming {
 public:
  bool begun() const { return begun_; }

  // Returns what ends the head: a header line where one is needed, and the empty line.
  std::string_view begin(std::optional<uint64_t> body_bytes, bool is_http_1_0);

  // Cuts off what exceeds the stated length.
  void cut(std::string& bytes);

  // One piece, not empty.
  void write(std::string bytes, ConnectionOutput& output) const;

  // Whether fewer bytes were written than were stated.
  bool is_short() const { return body_left_.value_or(0) > 0; }

  // What ends the body.
  std::string_view end() const { return chunked_ ? "0\r\n\r\n" : ""; }

 private:
  bool begun_ = false;
  bool chunked_ = false;
  std::optional<uint64_t> body_left_;  // of the stated length
};

}  // namespace windrow::http
