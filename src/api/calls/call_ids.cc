#include "api/calls/call_ids.h"

#include <array>
#include <cstring>

#include "base/crypto.h"
#include "base/hash.h"

namespace windrow::api {
namespace {

constexpr size_t kIdSecretBytes = 32;

Hash128 id_hash(uint64_t count, const std::string& secret) {
  std::array<char, sizeof(count) + kIdSecretBytes> text{};
  std::memcpy(text.data(), &count, sizeof(count));
  std::memcpy(text.data() + sizeof(count), secret.data(), kIdSecretBytes);
  return hash128({text.data(), text.size()});
}

}  // namespace

CallIds::CallIds() : secret_(secret_bytes(kIdSecretBytes)) {}

std::string CallIds::next() {
  const Hash128 hash = id_hash(++count_, secret_);
  return to_hex(hash.high) + to_hex(hash.low);
}

uint64_t CallIds::chance() {
  return id_hash(++count_, secret_).low;
}

}  // namespace windrow::api
