#include "http/testing/test_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "http/loop.h"

namespace windrow::http::testing {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::string_view kBadRequest =
    "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

tcp::endpoint loopback(uint16_t port) {
  return {asio::ip::address_v4::loopback(), port};
}

asio::redirect_error_t<asio::use_awaitable_t<>> into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

std::string chunks(const std::string& body, size_t chunk_bytes) {
  std::string text;
  for (size_t at = 0; at < body.size(); at += chunk_bytes) {
    const std::string chunk = body.substr(at, chunk_bytes);
    text += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
  }
  return text + "0\r\n\r\n";
}

std::string render(const TestReply& reply, bool is_head) {
  if (reply.framing == TestReply::Framing::kRaw) return reply.body;
  std::string text = fmt::format("HTTP/1.1 {} Whatever\r\n", reply.status);
  for (const Headers::Field field : reply.headers)
    text += fmt::format("{}: {}\r\n", field.name, field.value);
  if (reply.end == TestReply::End::kClose) text += "Connection: close\r\n";
  switch (reply.framing) {
    case TestReply::Framing::kChunked:
      return text + "Transfer-Encoding: chunked\r\n\r\n" +
             (is_head ? "" : chunks(reply.body, reply.chunk_bytes));
    case TestReply::Framing::kLength:
      text += fmt::format("Content-Length: {}\r\n", reply.body.size());
      break;
    default:
      break;
  }
  return text + "\r\n" + (is_head ? "" : reply.body);
}

template <class From, class To>
asio::awaitable<void> relay(From& from, To& to) {
  std::vector<char> bytes(size_t{16} << 10);
  error_code error;
  while (!error) {
    const size_t count = co_await from.async_read_some(asio::buffer(bytes), into(error));
    if (!error) co_await asio::async_write(to, asio::buffer(bytes, count), into(error));
  }
  to.close(error);
  from.close(error);
}

// Both ways until one side closes; `shared` because either direction may be the last to end.
asio::awaitable<void> relay_back(std::shared_ptr<tcp::socket> from,
                                 std::shared_ptr<tcp::socket> to) {
  co_await relay(*from, *to);
}

template <class Stream>
asio::awaitable<void> stall(Stream& stream) {
  std::vector<char> bytes(1024);
  error_code error;
  while (!error)
    co_await stream.async_read_some(asio::buffer(bytes), into(error));
}

}  // namespace

struct TestServer::State {
  Handler handler;
  TestServerOptions options;
  asio::ssl::context tls{asio::ssl::context::tls_server};
  std::atomic<int64_t> connections = 0;
  std::atomic<int64_t> requests = 0;
  mutable std::mutex mutex;
  std::string alpn;
  uint16_t port = 0;
  SystemClock clock;
  std::shared_ptr<tcp::acceptor> acceptor;  // accept() has it too, until it ends
  Loop loop{clock};                         // last: what it runs uses all of the above

  void start_tls(const TestCertificate& certificate) {
    tls.use_certificate(asio::buffer(certificate.certificate_pem), asio::ssl::context::pem);
    tls.use_private_key(asio::buffer(certificate.key_pem), asio::ssl::context::pem);
    SSL_CTX_set_alpn_select_cb(tls.native_handle(), &choose_protocol, this);
  }

  // Notes what is offered and takes HTTP/1.1.
  static int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_bytes,
                             const unsigned char* in, unsigned in_bytes, void* self) {
    auto* state = static_cast<State*>(self);
    int verdict = SSL_TLSEXT_ERR_NOACK;
    std::string all;
    for (unsigned at = 0; at < in_bytes; at += 1U + in[at]) {
      const std::string one(reinterpret_cast<const char*>(in + at + 1), in[at]);
      all += (all.empty() ? "" : ",") + one;
      if (one == "http/1.1") {
        *out = in + at + 1;
        *out_bytes = in[at];
        verdict = SSL_TLSEXT_ERR_OK;
      }
    }
    const std::scoped_lock lock(state->mutex);
    state->alpn = all;
    return verdict;
  }

  asio::awaitable<void> accept(std::shared_ptr<tcp::acceptor> from) {
    for (;;) {
      error_code error;
      tcp::socket socket = co_await from->async_accept(into(error));
      if (error) co_return;
      socket.set_option(tcp::no_delay(true));
      ++connections;
      asio::co_spawn(loop.context(), begin(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> begin(tcp::socket socket) {
    if (!options.tls) {
      co_await serve(std::make_shared<tcp::socket>(std::move(socket)));
      co_return;
    }
    auto stream = std::make_shared<asio::ssl::stream<tcp::socket>>(std::move(socket), tls);
    error_code error;
    co_await stream->async_handshake(asio::ssl::stream_base::server, into(error));
    if (!error) co_await serve(std::move(stream));
  }

  template <class Stream>
  asio::awaitable<void> serve(std::shared_ptr<Stream> stream) {
    beast::flat_buffer buffer;
    for (;;) {
      beast::http::request_parser<beast::http::string_body> parser;
      parser.body_limit(boost::none);
      error_code error;
      co_await beast::http::async_read(*stream, buffer, parser, into(error));
      // What is no request is answered as servers do; a TLS client sees that this is not TLS.
      if (error &&
          error.category() ==
              beast::http::make_error_code(beast::http::error::bad_method).category() &&
          error != beast::http::error::end_of_stream) {
        co_await asio::async_write(*stream, asio::buffer(kBadRequest), into(error));
        co_return;
      }
      if (error) co_return;
      ++requests;
      const auto& message = parser.get();
      TestRequest request{.method = std::string(message.method_string()),
                          .target = std::string(message.target()),
                          .body = message.body()};
      for (const auto& field : message)
        request.headers.add(std::string(field.name_string()), std::string(field.value()));
      const TestReply reply = handler(request);
      co_await write(*stream, reply, request.method == "HEAD", error);
      if (error) co_return;
      if (reply.tunnel_port != 0) {
        if constexpr (std::is_same_v<Stream, tcp::socket>)
          co_await tunnel(std::move(stream), reply.tunnel_port);
        co_return;
      }
      const bool is_until_close = reply.framing == TestReply::Framing::kClose;
      switch (reply.end) {
        case TestReply::End::kKeep:
          if (is_until_close) co_return;
          break;
        case TestReply::End::kClose:
          co_return;
        case TestReply::End::kStall:
          co_await stall(*stream);
          co_return;
        case TestReply::End::kReset:
          stream->lowest_layer().set_option(asio::socket_base::linger(true, 0));
          stream->lowest_layer().close(error);
          co_return;
      }
    }
  }

  template <class Stream>
  asio::awaitable<void> write(Stream& stream, const TestReply& reply, bool is_head,
                              error_code& error) {
    std::string text = render(reply, is_head);
    text.resize(std::min(text.size(), reply.bytes_max));
    const size_t step =
        reply.piece_bytes == 0 ? std::max<size_t>(text.size(), 1) : reply.piece_bytes;
    asio::steady_timer timer(loop.context());
    for (size_t at = 0; at < text.size() && !error; at += step) {
      const auto piece = asio::buffer(text.data() + at, std::min(step, text.size() - at));
      co_await asio::async_write(stream, piece, into(error));
      if (reply.piece_gap <= Duration::zero() || error) continue;
      timer.expires_after(reply.piece_gap);
      co_await timer.async_wait(into(error));
    }
  }

  asio::awaitable<void> tunnel(std::shared_ptr<tcp::socket> client, uint16_t to) {
    auto server = std::make_shared<tcp::socket>(loop.context());
    error_code error;
    co_await server->async_connect(loopback(to), into(error));
    if (error) co_return;
    asio::co_spawn(loop.context(), relay_back(server, client), asio::detached);
    co_await relay(*client, *server);
  }
};

TestServer::TestServer(Handler handler, TestServerOptions options)
    : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  state_->options = std::move(options);
  if (state_->options.tls) state_->start_tls(*state_->options.tls);
  state_->loop.run([state = state_.get()] {
    state->acceptor = std::make_shared<tcp::acceptor>(state->loop.context(), loopback(0));
    state->port = state->acceptor->local_endpoint().port();
    asio::co_spawn(state->loop.context(), state->accept(state->acceptor), asio::detached);
  });
}

TestServer::~TestServer() {
  state_->loop.run([this] {
    state_->acceptor->close();
    state_->acceptor.reset();
  });
}

uint16_t TestServer::port() const {
  return state_->port;
}

Url TestServer::url(const std::string& target) const {
  return {.tls = state_->options.tls.has_value(),
          .host = "127.0.0.1",
          .port = state_->port,
          .target = target};
}

int64_t TestServer::connections() const {
  return state_->connections;
}

int64_t TestServer::requests() const {
  return state_->requests;
}

std::string TestServer::alpn_offered() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->alpn;
}

uint16_t closed_port() {
  asio::io_context context;
  const tcp::acceptor acceptor(context, loopback(0));
  return acceptor.local_endpoint().port();
}

struct DeafPort::Sockets {
  asio::io_context context;
  tcp::acceptor acceptor{context};
  std::vector<tcp::socket> fillers;
};

// A listen queue from which nothing is accepted: once it is full, the kernel drops further
// connections.
DeafPort::DeafPort() : sockets_(std::make_unique<Sockets>()) {
  sockets_->acceptor.open(tcp::v4());
  sockets_->acceptor.bind(loopback(0));
  sockets_->acceptor.listen(0);
  port_ = sockets_->acceptor.local_endpoint().port();
  for (int i = 0; i < 4; ++i) {
    sockets_->fillers.emplace_back(sockets_->context, tcp::v4());
    sockets_->fillers.back().non_blocking(true);
    // Not by Asio, whose connect waits.
    const tcp::endpoint place = loopback(port_);
    ::connect(sockets_->fillers.back().native_handle(), place.data(),
              static_cast<socklen_t>(place.size()));
  }
}

DeafPort::~DeafPort() = default;

}  // namespace windrow::http::testing
