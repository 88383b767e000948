// Replies of a server: the head of every reply, and the replies to requests that no handler
// answers. Pure; on the loop's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/headers.h"
#include "http/request_parser.h"
#include "http/routes.h"
#include "http/server.h"

namespace windrow::http {

// The value of a Date header (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT". Years 0 to 9999.
std::string http_date(int64_t unix_seconds);

// Whether replies with this status may have a body at all (RFC 9110, 15).
bool has_body(int status);

// Whether all names and values are allowed in a message.
bool are_writable(const Headers& headers);

// "Name: value\r\n" for each field. They must be writable.
std::string header_lines(const Headers& headers);

// "HTTP/1.1 200 OK\r\n" and the header lines, without the empty line that ends a head. A header
// that is not writable makes it a 500 without headers.
std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       std::optional<uint64_t> body_bytes);

// Bytes of a request as a message may quote them: at most 200, printable ASCII only.
std::string shown(std::string_view text);

// Makes the replies that the server gives by itself on one connection. The arguments outlive it.
class RefusalReplies {
 public:
  RefusalReplies(const ServerOptions& options, const Routes<Handler>& routes,
                 const RequestParser& request, const std::string& peer)
      : options_(options), routes_(routes), request_(request), peer_(peer) {}

  // By ServerOptions::make_error. `handled`: Refusal::handled.
  ServerReply error(int status, std::string_view message, bool handled = false) const;

  // 404, or 405 where the path takes the methods `allowed`.
  ServerReply without_handler(const std::string& allowed) const;

  // 503 with Retry-After: bodies that are arriving, or answers that are not taken, fill the memory
  // for them.
  ServerReply too_much_arriving() const;
  ServerReply too_much_unsent() const;

 private:
  ServerReply retry_later(std::string_view message, bool handled) const;

  const ServerOptions& options_;
  const Routes<Handler>& routes_;
  const RequestParser& request_;
  const std::string& peer_;
};

}  // namespace windrow::http
