#include "http/tls_load.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace windrow::http {

namespace {

// A chain is some kilobytes. Whoever gives us another file by mistake is told so soon.
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

// The server's own, then those of who signed it.
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

// Called for a key that is encrypted; says so, and has no password.
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

}  // namespace

std::string take_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? fmt::format("OpenSSL error {:x}", code) : reason;
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

}  // namespace windrow::http
