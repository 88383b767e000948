// Transport: how the bytes of one connection of a server travel: as they are (PlainTransport), or
// through TLS (tls_transport.h). The socket does not block; who reads and writes waits for it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace windrow::http {

// On the loop's thread. The socket it was made for outlives it.
class Transport {
 public:
  virtual ~Transport() = default;

  enum class State : uint8_t {
    kMoved,         // `bytes` of them, more than none
    kWaitReadable,  // nothing now: call again, with the same, when the socket is readable
    kWaitWritable,  // or writable; a read may have to write, and the other way round
    kEnded,         // of read: the other side sends no more
    kBroken,        // nothing goes any more in either direction
    kNotTls,        // of the first read: this is plain HTTP; nothing was taken from the socket
  };

  struct Moved {
    State state = State::kMoved;
    size_t bytes = 0;
  };

  // `buffer` has room for a record of TLS: 16 KiB.
  virtual Moved read(std::span<char> buffer) = 0;

  // The front of `bytes`, which are not empty. After a wait they may lie elsewhere and be more, but
  // must begin alike.
  virtual Moved write(std::string_view bytes) = 0;

  // Tells the other side that nothing more comes. False when that was not possible.
  virtual bool end_sending() = 0;

  // Whether both sides have agreed on how to talk.
  virtual bool is_ready() const { return true; }
};

// Bytes as they are.
class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(boost::asio::ip::tcp::socket& socket) : socket_(socket) {}

  Moved read(std::span<char> buffer) override;
  Moved write(std::string_view bytes) override;
  bool end_sending() override;

 private:
  boost::asio::ip::tcp::socket& socket_;
};

}  // namespace windrow::http
