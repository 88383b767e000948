#include "base/secret.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <cerrno>

#include "base/ensure.h"

namespace windrow {

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
