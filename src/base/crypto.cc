#include "base/crypto.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cerrno>

#include "base/ensure.h"

namespace windrow {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  State() = default;
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  ENSURE(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "OpenSSL has no SHA-256");
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
  ENSURE(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
         "SHA-256 takes no bytes");
}

std::string Sha256::finish_bytes() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  ENSURE(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1, "SHA-256 does not end");
  return {digest.begin(), digest.begin() + size};
}

std::string Sha256::finish() {
  std::string text;
  for (const char byte : finish_bytes())
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string secret_bytes(size_t count) {
  std::string bytes(count, '\0');
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    ENSURE(got > 0, "the system has no randomness");
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace windrow
