#include "http/request_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace windrow::http {
namespace {

// What the client writes itself, or what would say another length than the body has.
bool is_the_clients(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"Host", "Content-Length", "Transfer-Encoding",
                                                      "Connection"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view own) { return same_ignoring_case(own, name); });
}

}  // namespace

void append_request_head(const ClientRequest& request, std::string& text) {
  text.append(to_string(request.method)).append(" ").append(request.url.target);
  text.append(" HTTP/1.1\r\nHost: ").append(authority(request.url)).append("\r\n");
  bool has_agent = false;
  bool has_encoding = false;
  for (const Headers::Field field : request.headers) {
    if (is_the_clients(field.name)) continue;
    has_agent = has_agent || same_ignoring_case(field.name, "User-Agent");
    has_encoding = has_encoding || same_ignoring_case(field.name, "Accept-Encoding");
    text.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (!has_agent) text.append("User-Agent: windrow\r\n");
  // On the local net, packing costs more than it saves.
  if (!has_encoding) text.append("Accept-Encoding: identity\r\n");
  if (request.body || request.method == Method::kPost || request.method == Method::kPut) {
    fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n",
                   request.body ? request.body->size() : 0);
  }
  text.append("\r\n");
}

}  // namespace windrow::http
