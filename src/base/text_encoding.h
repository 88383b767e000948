// Bytes written as ASCII text: base64 and percent-encoding. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace windrow {

// --- base64 (RFC 4648, section 4): the alphabet with + and /, padded ---

// The length of the text for `bytes` bytes.
constexpr size_t base64_length(size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

void append_base64(std::string_view bytes, std::string& text);

// --- percent-encoding, as in addresses and header fields (RFC 3986, 2.1) ---

// "a%2Fb" becomes "a/b". A % that begins no escape stays. The result may be any bytes.
std::string percent_decoded(std::string_view text);

// Escapes every byte but letters, digits, "-._~" and those in `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept = "");

}  // namespace windrow
