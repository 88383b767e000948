// Base64 (RFC 4648, section 4): the alphabet with + and /, padded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// How long `bytes` bytes become.
constexpr size_t base64_length(size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

void append_base64(std::string_view bytes, std::string& text);

}  // namespace windrow
