// SHA-256 of bytes that come in pieces (FIPS 180-4, by OpenSSL).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace windrow::model_store {

// Used by one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);

  // 64 small hexadecimal digits; nothing may be added after.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace windrow::model_store
