// RawClient: a blocking connection for tests, which sees every byte. Waits at most ten seconds for
// anything, so that a test that would hang fails.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace windrow::http::testing {

class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(context_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    socket_.non_blocking(true);
  }

  // False when the other side would not take it.
  bool send(std::string_view bytes) {
    boost::system::error_code error;
    while (!bytes.empty() && !error && wait_for(POLLOUT)) {
      bytes.remove_prefix(
          socket_.write_some(boost::asio::buffer(bytes.data(), bytes.size()), error));
      if (error == boost::asio::error::would_block) error.clear();
    }
    return bytes.empty();
  }

  // As much of `bytes` as is taken at once; how much.
  size_t send_some(std::string_view bytes) {
    boost::system::error_code error;
    return socket_.write_some(boost::asio::buffer(bytes.data(), bytes.size()), error);
  }

  // One reply, head and body, the body by its Content-Length or, undone, its chunks; what there was
  // when the connection ends before.
  std::string read_reply() {
    while (came_.find("\r\n\r\n") == std::string::npos && more()) {
    }
    const size_t head = came_.find("\r\n\r\n") + 4;
    size_t end = head;
    if (const size_t length = came_.find("Content-Length: "); length < head) {
      size_t bytes = 0;
      std::from_chars(came_.data() + length + 16, came_.data() + head, bytes);
      end += bytes;
      while (came_.size() < end && more()) {
      }
    } else if (came_.find("chunked") < head) {
      constexpr std::string_view kEnd = "0\r\n\r\n";
      size_t searched = head;
      while ((end = came_.find(kEnd, searched)) == std::string::npos) {
        searched = std::max(head, came_.size() - std::min(came_.size(), kEnd.size() - 1));
        if (!more()) break;
      }
      end = end == std::string::npos ? came_.size() : end + kEnd.size();
    }
    std::string reply = came_.substr(0, end);
    came_.erase(0, end);
    return reply;
  }

  // Everything until the other side closes.
  std::string read_all() {
    while (more()) {
    }
    return came_;
  }

  // Whether the connection ended with a reset, once read_all() has returned.
  bool was_reset() const { return error_ == boost::asio::error::connection_reset; }

  // What has come, at least one byte more than before; empty at the end.
  std::string read_some() {
    if (came_.empty()) more();
    return std::exchange(came_, {});
  }

  // Sends no more, and may still read.
  void end_sending() {
    boost::system::error_code gone;
    socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, gone);
  }

  void close() { socket_.close(); }

  // Closes as a process that dies with something unread.
  void reset() {
    boost::system::error_code gone;
    socket_.set_option(boost::asio::socket_base::linger(true, 0), gone);
    socket_.close(gone);
  }

 private:
  bool wait_for(short what) {
    pollfd wanted{.fd = socket_.native_handle(), .events = what, .revents = 0};
    return ::poll(&wanted, 1, 10'000) == 1;
  }

  bool more() {
    char buffer[4096];
    if (!wait_for(POLLIN)) {
      ADD_FAILURE() << "nothing came for ten seconds";
      error_ = boost::asio::error::timed_out;
      return false;
    }
    const size_t bytes = socket_.read_some(boost::asio::buffer(buffer), error_);
    came_.append(buffer, bytes);
    return !error_;
  }

  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
  boost::system::error_code error_;
  std::string came_;
};

}  // namespace windrow::http::testing
