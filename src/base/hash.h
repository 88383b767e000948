// Fingerprints of texts (XXH3): stable between runs and machines, so they may be stored.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace windrow {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// Wide enough that among 10^12 different texts no two have the same hash: for identities.
Hash128 hash128(std::string_view text);

// Wide enough to notice that a text has changed.
uint64_t hash64(std::string_view text, uint64_t seed = 0);

// 16 lower-case hexadecimal digits, and back. parse_hex64 is false for any other form.
std::string to_hex(uint64_t value);
bool parse_hex64(std::string_view text, uint64_t& value);

}  // namespace windrow

template <>
struct std::hash<windrow::Hash128> {
  size_t operator()(const windrow::Hash128& value) const noexcept { return value.low; }
};
