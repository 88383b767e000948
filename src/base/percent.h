// Percent-encoding, as in addresses and header fields (RFC 3986, 2.1).
#pragma once

#include <string>
#include <string_view>

namespace windrow {

// "a%2Fb" is "a/b". What is no escape stays as it is; the bytes that come out may be any.
std::string percent_decoded(std::string_view text);

// Bytes that are neither unreserved characters (letters, digits, "-._~") nor in `kept` become
// escapes.
std::string percent_encoded(std::string_view text, std::string_view kept = "");

}  // namespace windrow
