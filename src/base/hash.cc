#include "base/hash.h"

#include <xxhash.h>

#include <charconv>

namespace windrow {

Hash128 hash128(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return Hash128{.low = hash.low64, .high = hash.high64};
}

uint64_t hash64(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::string to_hex(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = text.size(); i > 0; value >>= 4)
    text[--i] = "0123456789abcdef"[value & 0xF];
  return text;
}

bool parse_hex64(std::string_view text, uint64_t& value) {
  if (text.size() != 16) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace windrow
