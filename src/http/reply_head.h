// The head of a server's reply. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/headers.h"

namespace windrow::http {

// Whether replies with this status may have a body at all (RFC 9110, 15).
bool has_body(int status);

// Whether all of them can stand in a message.
bool are_writable(const Headers& headers);

// "Name: value\r\n" for each. They must be writable.
std::string header_lines(const Headers& headers);

// "HTTP/1.1 200 OK\r\n" and the headers, without the empty line. A header whose name or value
// cannot stand in a message makes it a 500 without headers.
std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       std::optional<uint64_t> body_bytes);

// Bytes of a request as a message may show them: at most 200, and none that is not plain ASCII.
std::string shown(std::string_view text);

}  // namespace windrow::http
