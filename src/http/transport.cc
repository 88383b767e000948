#include "http/transport.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace windrow::http {

namespace asio = boost::asio;

namespace {

// A client that vanished is probed after kProbeAfterS, and given up after kProbes of kProbeGapS
// without an answer.
constexpr int kProbeAfterS = 30;
constexpr int kProbeGapS = 10;
constexpr int kProbes = 3;

void set_option(int socket, int level, int name, int value) {
  // A system that does not know an option goes without it.
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

}  // namespace

Transport::Moved PlainTransport::read(std::span<char> buffer) {
  boost::system::error_code error;
  const size_t bytes = socket_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
  if (error == asio::error::would_block) return {State::kWaitReadable};
  if (error == asio::error::eof) return {State::kEnded};
  if (error) return {State::kBroken};
  return {State::kMoved, bytes};
}

Transport::Moved PlainTransport::write(std::string_view bytes) {
  boost::system::error_code error;
  const size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error == asio::error::would_block) return {State::kWaitWritable};
  if (error) return {State::kBroken};
  return {State::kMoved, sent};
}

bool PlainTransport::end_sending() {
  boost::system::error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  return !error;
}

void set_server_socket_options(asio::ip::tcp::socket& socket, size_t unsent_max) {
  const int handle = socket.native_handle();
  set_option(handle, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(handle, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(unsent_max));
  set_option(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(handle, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterS);
  set_option(handle, IPPROTO_TCP, TCP_KEEPINTVL, kProbeGapS);
  set_option(handle, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

std::string address_text(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  asio::ip::address address = socket.remote_endpoint(error).address();
  if (error) return "unknown";
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address.to_string();
}

}  // namespace windrow::http
