#include "http/testing/test_certificate.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/ensure.h"
#include "http/url.h"

namespace windrow::http::testing {
namespace {

struct EndBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct EndKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct EndCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(bytes)};
}

void add_extension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  ENSURE(extension != nullptr, "OpenSSL does not take '{}'", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TestCertificate make_certificate(const std::vector<std::string>& names) {
  const std::unique_ptr<EVP_PKEY, EndKey> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, EndCertificate> certificate(X509_new());
  ENSURE(key && certificate, "OpenSSL makes no key");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24L * 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const std::string common = "windrow test";
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common.data()),
                             static_cast<int>(common.size()), -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  std::string list;
  for (const std::string& entry : names) {
    uint32_t address = 0;
    if (!list.empty()) list += ',';
    list += (parse_ipv4(entry, address) ? "IP:" : "DNS:") + entry;
  }
  add_extension(certificate.get(), NID_subject_alt_name, list);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  ENSURE(X509_sign(certificate.get(), key.get(), EVP_sha256()) != 0, "OpenSSL does not sign");

  const std::unique_ptr<BIO, EndBio> certificate_text(BIO_new(BIO_s_mem()));
  const std::unique_ptr<BIO, EndBio> key_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

std::string encrypt_key(const std::string& key_pem) {
  const std::unique_ptr<BIO, EndBio> in(
      BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
  const std::unique_ptr<EVP_PKEY, EndKey> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  ENSURE(key != nullptr, "this is no key");
  const std::unique_ptr<BIO, EndBio> out(BIO_new(BIO_s_mem()));
  const std::string password = "secret";
  PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(),
                           reinterpret_cast<const unsigned char*>(password.data()),
                           static_cast<int>(password.size()), nullptr, nullptr);
  return text_of(out.get());
}

}  // namespace windrow::http::testing
