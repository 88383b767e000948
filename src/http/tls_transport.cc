#include "http/tls_transport.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ensure.h"

namespace windrow::http {

namespace {

// --- OpenSSL on a socket ------------------------------------------------------------------------

// OpenSSL's own socket BIO raises SIGPIPE when the client is gone; this one does not. The caller
// keeps ownership of the socket.

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
      // Once: neither the other side's close_notify nor a full socket is waited for.
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
        // OpenSSL allows no further call on it, not even SSL_shutdown.
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

// For TLS 1.2; all of 1.3 are fine.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

constexpr std::string_view kProtocol = "http/1.1";

// An alert tells a client that offers protocols but not ours (RFC 7301, 3.2).
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

// --- certificate and key ------------------------------------------------------------------------

// What OpenSSL said last on this thread, for people. Its list of errors is empty afterwards.
std::string take_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? fmt::format("OpenSSL error {:x}", code) : reason;
}

// A chain has some kilobytes. A larger file is another one, named by mistake.
constexpr std::streamsize kFileBytesMax = std::streamsize{1} << 20;

struct EndBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct EndKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct EndCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, EndCertificate>;
using Key = std::unique_ptr<EVP_PKEY, EndKey>;

Result<std::string> read_file(const std::string& path, std::string_view what) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) {
    text.resize(kFileBytesMax + 1);
    file.read(text.data(), kFileBytesMax + 1);
    text.resize(static_cast<size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {
    const int error = errno;
    return Error{error == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                 fmt::format("{}: cannot read the {}: {}", path, what,
                             std::generic_category().message(error))};
  }
  if (text.size() > kFileBytesMax) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this is larger than any {}; give the PEM file", path, what)};
  }
  return text;
}

std::unique_ptr<BIO, EndBio> bytes_of(const std::string& text) {
  return std::unique_ptr<BIO, EndBio>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// The server's own certificate, then those of its issuers.
Result<std::vector<Certificate>> read_chain(const std::string& path) {
  const Result<std::string> text = read_file(path, "certificate");
  if (!text) return text.error();
  const std::unique_ptr<BIO, EndBio> in = bytes_of(*text);
  std::vector<Certificate> chain;
  while (X509* certificate = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr))
    chain.emplace_back(certificate);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_tls_error();
  if (!at_end) {
    return Error{ErrorKind::kInvalid, fmt::format("{}: certificate number {} cannot be read: {}",
                                                  path, chain.size() + 1, reason)};
  }
  if (chain.empty()) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: there is no certificate in it; it must be PEM, with a line "
                             "-----BEGIN CERTIFICATE-----",
                             path)};
  }
  return chain;
}

// OpenSSL calls this for an encrypted key; it notes that, and has no password.
int note_encrypted(char*, int, int, void* encrypted) {
  *static_cast<bool*>(encrypted) = true;
  return -1;
}

Result<Key> read_key(const std::string& path) {
  const Result<std::string> text = read_file(path, "key");
  if (!text) return text.error();
  bool encrypted = false;
  Key key(PEM_read_bio_PrivateKey(bytes_of(*text).get(), nullptr, note_encrypted, &encrypted));
  const std::string reason = take_tls_error();
  if (key) return key;
  if (encrypted) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: the key is encrypted, and a server that starts by itself has "
                             "nobody to ask; write it decrypted with: openssl pkey -in {} -out "
                             "NEW_FILE",
                             path, path)};
  }
  if (text->find("PRIVATE KEY-----") == std::string::npos) {
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: there is no private key in it; it must be PEM, with a line "
                             "-----BEGIN PRIVATE KEY-----",
                             path)};
  }
  return Error{ErrorKind::kInvalid, fmt::format("{}: the key cannot be read: {}", path, reason)};
}

Result<void> load_tls_files(const TlsFiles& files, SSL_CTX* context) {
  ERR_clear_error();
  const Result<std::vector<Certificate>> chain = read_chain(files.certificate_file);
  if (!chain) return chain.error();
  const Result<Key> key = read_key(files.key_file);
  if (!key) return key.error();
  for (size_t i = 0; i < chain->size(); ++i) {
    if (X509_check_private_key((*chain)[i].get(), key->get()) != 1) continue;
    if (i == 0) break;
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: the certificate that belongs to the key is number {}; it must be "
                             "the first, those of who signed it behind it",
                             files.certificate_file, i + 1)};
  }
  ERR_clear_error();
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return Error{ErrorKind::kInvalid,
                 fmt::format("{}: this key does not belong to the certificate in {}",
                             files.key_file, files.certificate_file)};
  }
  bool taken = SSL_CTX_use_certificate(context, chain->front().get()) == 1 &&
               SSL_CTX_use_PrivateKey(context, key->get()) == 1;
  for (size_t i = 1; i < chain->size() && taken; ++i)
    taken = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  if (!taken) {
    // A key that is too short for today's rules, for instance.
    return Error{ErrorKind::kInvalid, fmt::format("{}: OpenSSL does not take this certificate: {}",
                                                  files.certificate_file, take_tls_error())};
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::load(const TlsFiles& files) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) {
    return Error{ErrorKind::kUnavailable, "OpenSSL cannot be used for TLS: " + take_tls_error()};
  }
  std::unique_ptr<TlsContext> made(new TlsContext(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A client that closes without close_notify has simply closed: where a request ends is known from
  // the request.
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // The unsent bytes may grow and move between two attempts.
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
