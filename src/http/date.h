// Dates of HTTP headers (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::http {

// Of a time since 1970 in UTC, in years 0 to 9999.
std::string http_date(int64_t unix_seconds);

// Reads the form above, which every server of today writes; nothing for any other text.
std::optional<int64_t> parse_http_date(std::string_view text);

}  // namespace windrow::http
