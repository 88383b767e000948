#include "http/server_replies.h"

#include <fmt/format.h>

#include <array>
#include <boost/beast/http/status.hpp>
#include <chrono>

namespace windrow::http {

namespace {

constexpr size_t kShownMax = 200;

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string_view reason_of(int status) {
  namespace beast_http = boost::beast::http;
  if (status == 529) return "Overloaded";  // Anthropic's
  const beast_http::status known = beast_http::int_to_status(static_cast<unsigned>(status));
  if (known == beast_http::status::unknown) return "";
  const boost::beast::string_view reason = beast_http::obsolete_reason(known);
  return {reason.data(), reason.size()};
}

}  // namespace

std::string http_date(int64_t unix_seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays.at(std::chrono::weekday(day).c_encoding()), unsigned{date.day()},
                     kMonths.at(unsigned{date.month()} - 1), int{date.year()},
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

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

ServerReply RefusalReplies::error(int status, std::string_view message, bool handled) const {
  if (options_.make_error) {
    return options_.make_error({.status = status,
                                .message = message,
                                .method = request_.method(),
                                .path = request_.path(),
                                .peer = peer_,
                                .headers = request_.headers(),
                                .handled = handled});
  }
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = fmt::format("{}\n", message)};
}

ServerReply RefusalReplies::without_handler(const std::string& allowed) const {
  const std::string path = shown(request_.path());
  const std::string method = shown(request_.method());
  if (allowed.empty()) {
    const std::string_view near = routes_.similar(request_.path());
    return error(404, near.empty()
                          ? fmt::format("there is nothing at {}", path)
                          : fmt::format("there is nothing at {}; did you mean {}?", path, near));
  }
  ServerReply reply = error(405, fmt::format("{} takes {}, not {}", path, allowed, method));
  reply.headers.add("Allow", allowed);
  return reply;
}

ServerReply RefusalReplies::too_much_arriving() const {
  return retry_later("too many large requests are arriving at once; ask again in a few seconds",
                     false);
}

ServerReply RefusalReplies::too_much_unsent() const {
  return retry_later(
      "the answers that clients have not taken yet fill the memory there is for them; ask again in "
      "a few seconds, and for less at once",
      true);
}

ServerReply RefusalReplies::retry_later(std::string_view message, bool handled) const {
  ServerReply reply = error(503, message, handled);
  reply.headers.set("Retry-After", "2");
  return reply;
}

}  // namespace windrow::http
