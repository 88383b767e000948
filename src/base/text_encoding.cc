#include "base/base64.h"

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

}  // namespace windrow
