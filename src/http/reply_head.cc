#include "http/reply_head.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>

namespace windrow::http {

namespace {

constexpr size_t kShownMax = 200;

std::string_view reason_of(int status) {
  namespace beast_http = boost::beast::http;
  if (status == 529) return "Overloaded";  // Anthropic's
  const beast_http::status known = beast_http::int_to_status(static_cast<unsigned>(status));
  if (known == beast_http::status::unknown) return "";
  const boost::beast::string_view reason = beast_http::obsolete_reason(known);
  return {reason.data(), reason.size()};
}

}  // namespace

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

bool are_writable(const Headers& headers) {
  for (const Headers::Field field : headers) {
    if (!is_header_name(field.name) || !is_header_value(field.value)) return false;
  }
  return true;
}

std::string header_lines(const Headers& headers) {
  std::string lines;
  for (const Headers::Field field : headers)
    lines.append(field.name).append(": ").append(field.value).append("\r\n");
  return lines;
}

std::string reply_head(int status, std::string_view content_type, const Headers& headers,
                       std::optional<uint64_t> body_bytes) {
  if (!are_writable(headers)) return reply_head(500, content_type, {}, body_bytes);
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  if (!content_type.empty()) head += fmt::format("Content-Type: {}\r\n", content_type);
  head += header_lines(headers);
  if (body_bytes && has_body(status)) head += fmt::format("Content-Length: {}\r\n", *body_bytes);
  return head;
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, kShownMax));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > kShownMax) out += "...";
  return out;
}

}  // namespace windrow::http
