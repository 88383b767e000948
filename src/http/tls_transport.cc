#include "http/tls_transport.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/ensure.h"
#include "http/tls_load.h"

namespace windrow::http {

namespace {

// --- OpenSSL on a socket ------------------------------------------------------------------------

// OpenSSL's own way to a socket raises SIGPIPE when the client is gone; this one does not. The
// socket stays its owner's.

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool may_go_on(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

int send_bytes(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_of(bio), bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && may_go_on(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_bytes(BIO* bio, char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t came = ::recv(socket_of(bio), bytes, static_cast<size_t>(count), 0);
  if (came < 0 && may_go_on(errno)) BIO_set_retry_read(bio);
  if (came == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(came);
}

long control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_EOF:
      return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    default:
      return 0;
  }
}

// One for the process, as long as it lives.
BIO_METHOD* socket_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    ENSURE(made != nullptr, "OpenSSL has no memory");
    BIO_meth_set_write(made, send_bytes);
    BIO_meth_set_read(made, receive_bytes);
    BIO_meth_set_ctrl(made, control);
    return made;
  }();
  return method;
}

// --- one connection -----------------------------------------------------------------------------

class TlsTransport final : public Transport {
 public:
  TlsTransport(boost::asio::ip::tcp::socket& socket, SSL_CTX* context)
      : socket_(socket), ssl_(SSL_new(context)) {
    BIO* bio = BIO_new(socket_method());
    ENSURE(ssl_ != nullptr && bio != nullptr, "OpenSSL has no memory");
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket_.native_handle())));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
  }

  Moved read(std::span<char> buffer) override {
    if (broken_) return {State::kBroken};
    if (!looked_) {
      const State first = look_at_first_byte();
      if (first != State::kMoved) return {first};
    }
    ERR_clear_error();
    size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &bytes);
    if (result == 1) return {State::kMoved, bytes};
    return {what_now(result)};
  }

  Moved write(std::string_view bytes) override {
    if (broken_) return {State::kBroken};
    ERR_clear_error();
    size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    if (result == 1) return {State::kMoved, sent};
    const State state = what_now(result);
    return {state == State::kEnded ? State::kBroken : state};
  }

  bool end_sending() override {
    if (ended_) return true;
    ended_ = true;
    if (!broken_ && is_ready()) {
      ERR_clear_error();
      // Once: the other side's word is not waited for, and a full socket is not either.
      if (SSL_shutdown(ssl_.get()) < 0) ERR_clear_error();
    }
    boost::system::error_code error;
    socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
    return !error;
  }

  bool is_ready() const override { return SSL_is_init_finished(ssl_.get()) == 1; }

 private:
  struct End {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  // TLS begins with the byte 22, a method of HTTP with a letter.
  State look_at_first_byte() {
    char first = 0;
    const ssize_t bytes = ::recv(socket_.native_handle(), &first, 1, MSG_PEEK);
    if (bytes < 0) return may_go_on(errno) ? State::kWaitReadable : State::kBroken;
    if (bytes == 0) return State::kEnded;
    looked_ = true;
    return std::isalpha(static_cast<unsigned char>(first)) != 0 ? State::kNotTls : State::kMoved;
  }

  State what_now(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return State::kWaitReadable;
      case SSL_ERROR_WANT_WRITE:
        return State::kWaitWritable;
      case SSL_ERROR_ZERO_RETURN:
        return State::kEnded;
      default:
        // Nothing more may be asked of it, not even a good-bye.
        broken_ = true;
        ERR_clear_error();
        return State::kBroken;
    }
  }

  boost::asio::ip::tcp::socket& socket_;
  std::unique_ptr<SSL, End> ssl_;
  bool looked_ = false;
  bool broken_ = false;
  bool ended_ = false;
};

// --- what all connections share -----------------------------------------------------------------

// For TLS 1.2; what 1.3 has is all fine.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

constexpr std::string_view kProtocol = "http/1.1";

// A client that offers protocols and not ours is told so by an alert (RFC 7301, 3.2).
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_bytes,
                    const unsigned char* in, unsigned in_bytes, void*) {
  for (unsigned at = 0; at < in_bytes; at += 1U + in[at]) {
    const std::string_view offered(reinterpret_cast<const char*>(in + at + 1), in[at]);
    if (offered != kProtocol) continue;
    *out = in + at + 1;
    *out_bytes = in[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::load(const TlsFiles& files) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) {
    return Error{ErrorKind::kUnavailable, "OpenSSL cannot be used for TLS: " + take_tls_error()};
  }
  std::unique_ptr<TlsContext> made(new TlsContext(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A client that closes without TLS's good-bye is a client that has closed: where a request ends
  // is known from the request.
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // What has not left may grow and move between two tries.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // Sessions are resumed by tickets, which cost us no memory.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  if (const Result<void> loaded = load_tls_files(files, context); !loaded) return loaded.error();
  return std::shared_ptr<TlsContext>(std::move(made));
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

std::unique_ptr<Transport> TlsContext::serve(boost::asio::ip::tcp::socket& socket) const {
  return std::make_unique<TlsTransport>(socket, context_);
}

}  // namespace windrow::http
