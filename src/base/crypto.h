// SHA-256, random bytes for secrets, and a comparison of secrets. Digests are OpenSSL's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace windrow {

// SHA-256 (FIPS 180-4) of bytes that arrive in pieces. Used by one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::string_view bytes);

  // The digest as 64 lower-case hexadecimal digits, or as 32 bytes. Ends the object: no other
  // method may be called afterwards.
  std::string finish();
  std::string finish_bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes that cannot be guessed, from the operating system. Blocks only shortly after the machine
// has started. Any thread.
std::string secret_bytes(size_t count);

// Whether two texts are equal. For texts of one length the time does not depend on where they
// differ. Any thread.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace windrow
