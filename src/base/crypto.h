// SHA-256 of bytes that come in pieces (FIPS 180-4, by OpenSSL).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace windrow {

// Used by one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);

  // 64 small hexadecimal digits, or 32 bytes; nothing may be added after.
  std::string finish();
  std::string finish_bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace windrow
