#include "base/text_encoding.h"

#include <charconv>
#include <cstdint>

namespace windrow {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void append_base64(std::string_view bytes, std::string& text) {
  const size_t start = text.size();
  text.resize(start + base64_length(bytes.size()), '=');
  size_t to = start;
  for (size_t from = 0; from < bytes.size(); from += 3) {
    const size_t count = bytes.size() - from < 3 ? bytes.size() - from : 3;
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < count ? static_cast<uint8_t>(bytes[from + i]) : 0U);
    // n bytes fill n + 1 characters; the rest stays padding.
    for (size_t i = 0; i <= count; ++i)
      text[to + i] = kAlphabet[group >> (18 - 6 * i) & 63U];
    to += 4;
  }
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
