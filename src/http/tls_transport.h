// TLS of a server (OpenSSL): what it shows its clients, and the Transport of each connection.
//
// TLS 1.2 and 1.3, ciphers with forward secrecy only, no renegotiation, no compression, no
// certificates of clients; ALPN offers http/1.1. OpenSSL works on the socket itself, which does not
// block, so that a connection at rest holds no buffers of ours.
#pragma once

#include <openssl/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/result.h"
#include "http/tls_files.h"
#include "http/transport.h"

namespace windrow::http {

class TlsContext {
 public:
  // Errors name the file and say what is wrong with it: kNotFound and kIo when it cannot be read,
  // kInvalid when it holds no certificate, no key, an encrypted key, or when the two do not fit.
  static Result<std::shared_ptr<TlsContext>> load(const TlsFiles& files);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // For a client that has just connected; may outlive this.
  std::unique_ptr<Transport> serve(boost::asio::ip::tcp::socket& socket) const;

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  SSL_CTX* context_;
};

}  // namespace windrow::http
