#include "http/transport.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

namespace windrow::http {

namespace asio = boost::asio;

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

}  // namespace windrow::http
