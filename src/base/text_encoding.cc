#include "base/text_encoding.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <charconv>
#include <cstdint>

namespace windrow {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Encodes whole groups of three bytes from the beginning on, at most all of them. Returns how many
// bytes were encoded; `to` has room for them.
using EncodeGroups = size_t (*)(std::string_view bytes, char* to);

size_t encode_groups_on_any(std::string_view bytes, char* to) {
  size_t from = 0;
  for (; bytes.size() - from >= 3; from += 3, to += 4) {
    const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(bytes[from + i]); };
    const uint32_t group = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (uint32_t i = 0; i < 4; ++i)
      to[i] = kAlphabet[group >> (18 - 6 * i) & 63U];
  }
  return from;
}

#if defined(__x86_64__)
// 24 bytes at once, for processors of 2013 and later. After W. Mula and D. Lemire, "Faster Base64
// Encoding and Decoding Using AVX2 Instructions", 2018.
[[gnu::target("avx2")]] size_t encode_groups_on_avx2(std::string_view bytes, char* to) {
  // The bytes of a group as two pairs, each with both halves of a character that spans two.
  const __m256i pairs =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
  // What makes six bits a character: capitals, small letters, ten digits, plus and slash.
  const __m256i to_character = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(65, 71, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -19, -16, 0, 0));
  size_t from = 0;
  // It reads 28 bytes for 24.
  for (; bytes.size() - from >= 28; from += 24, to += 32) {
    const auto load = [&](size_t offset) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + from + offset));
    };
    const __m256i in = _mm256_shuffle_epi8(
        _mm256_inserti128_si256(_mm256_castsi128_si256(load(0)), load(12), 1), pairs);
    const __m256i even = _mm256_mulhi_epu16(_mm256_and_si256(in, _mm256_set1_epi32(0x0FC0FC00)),
                                            _mm256_set1_epi32(0x04000040));
    const __m256i odd = _mm256_mullo_epi16(_mm256_and_si256(in, _mm256_set1_epi32(0x003F03F0)),
                                           _mm256_set1_epi32(0x01000010));
    const __m256i sixes = _mm256_or_si256(even, odd);
    const __m256i kind = _mm256_sub_epi8(_mm256_subs_epu8(sixes, _mm256_set1_epi8(51)),
                                         _mm256_cmpgt_epi8(sixes, _mm256_set1_epi8(25)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_add_epi8(sixes, _mm256_shuffle_epi8(to_character, kind)));
  }
  return from + encode_groups_on_any(bytes.substr(from), to);
}
#endif

// For this processor; not chosen by the loader, as in base64_decoder.cc.
EncodeGroups encode_groups_here() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return encode_groups_on_avx2;
#endif
  return encode_groups_on_any;
}

}  // namespace

void append_base64(std::string_view bytes, std::string& text) {
  static const EncodeGroups encode_groups = encode_groups_here();
  const size_t start = text.size();
  text.resize(start + base64_length(bytes.size()), '=');
  const size_t from = encode_groups(bytes, text.data() + start);
  if (from == bytes.size()) return;
  // n bytes fill n + 1 characters; the rest stays padding.
  const auto byte = [&](size_t i) -> uint32_t {
    return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0U;
  };
  const uint32_t group = byte(from) << 16U | byte(from + 1) << 8U;
  char* to = text.data() + start + from / 3 * 4;
  for (size_t i = 0; i <= bytes.size() - from; ++i)
    to[i] = kAlphabet[group >> (18 - 6 * i) & 63U];
}

std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool escape = text[i] == '%' && digits.size() == 2 && error == std::errc() &&
                        end == digits.data() + digits.size();
    bytes += escape ? static_cast<char>(byte) : text[i];
    if (escape) i += 2;
  }
  return bytes;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos || kept.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

}  // namespace windrow
