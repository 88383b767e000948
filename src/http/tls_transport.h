// TLS of a server, by OpenSSL: its certificate and key, and the Transport of each connection.
//
// TLS 1.2 and 1.3, ciphers with forward secrecy only, no renegotiation, no compression, no client
// certificates; ALPN offers http/1.1. OpenSSL works on the non-blocking socket itself, so that an
// idle connection holds no buffers here.
#pragma once

#include <openssl/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "base/result.h"
#include "http/server.h"
#include "http/transport.h"

namespace windrow::http {

// Const and thread-safe once loaded.
class TlsContext {
 public:
  // Reads certificate and key. Errors name the file and what is wrong with it: kNotFound and kIo
  // when it cannot be read, kInvalid when it holds no certificate, no key, or an encrypted key, or
  // when the two do not belong together. kUnavailable: OpenSSL cannot be used.
  static Result<std::shared_ptr<TlsContext>> load(const TlsFiles& files);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The transport for a client that has just connected. `socket` outlives it; it may outlive this.
  std::unique_ptr<Transport> serve(boost::asio::ip::tcp::socket& socket) const;

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  SSL_CTX* context_;
};

}  // namespace windrow::http
