// Transport: how the bytes of a server's connection travel: as they are (PlainTransport), or
// through TLS (tls_transport.h). The socket is non-blocking; the caller waits for it. Also the
// socket settings that all connections have.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace windrow::http {

// On the loop's thread. The socket outlives the transport.
class Transport {
 public:
  virtual ~Transport() = default;

  enum class State : uint8_t {
    kMoved,         // `bytes` bytes, at least one
    kWaitReadable,  // call again with the same arguments when the socket is readable
    kWaitWritable,  // the same when it is writable; with TLS a read may have to write
    kEnded,         // read(): the other side sends no more
    kBroken,        // the connection is unusable in both directions
    kNotTls,        // the first read(): this is plain HTTP; nothing was taken from the socket
  };

  struct Moved {
    State state = State::kMoved;
    size_t bytes = 0;
  };

  // Reads into `buffer`, which must have room for a TLS record: 16 KiB.
  virtual Moved read(std::span<char> buffer) = 0;

  // Sends the front of `bytes`, which must not be empty. After a wait `bytes` may be longer and at
  // another address, but must begin with the same bytes.
  virtual Moved write(std::string_view bytes) = 0;

  // Tells the other side that nothing more follows. False when that was not possible.
  virtual bool end_sending() = 0;

  // Whether the handshake is over, where there is one.
  virtual bool is_ready() const { return true; }
};

// Sends bytes as they are.
class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(boost::asio::ip::tcp::socket& socket) : socket_(socket) {}

  Moved read(std::span<char> buffer) override;
  Moved write(std::string_view bytes) override;
  bool end_sending() override;

 private:
  boost::asio::ip::tcp::socket& socket_;
};

// Settings of every accepted socket: no delay, keep-alive probes that notice a vanished client (a
// cut cable) after a minute, and at most `unsent_max` bytes in the system beyond what is on its
// way.
void set_server_socket_options(boost::asio::ip::tcp::socket& socket, size_t unsent_max);

// The client's address without a port, IPv4 as such; "unknown" when it is gone already.
std::string address_text(const boost::asio::ip::tcp::socket& socket);

}  // namespace windrow::http
