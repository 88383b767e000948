#include "api/cors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace windrow::api {
namespace {

// The headers that a page may read.
constexpr std::string_view kExposed =
    "X-Request-Id, Request-Id, X-Should-Retry, Retry-After, Retry-After-Ms, "
    "X-RateLimit-Limit-Requests, "
    "X-RateLimit-Limit-Tokens, X-RateLimit-Remaining-Requests, X-RateLimit-Remaining-Tokens, "
    "X-RateLimit-Reset-Requests, X-RateLimit-Reset-Tokens, X-Windrow-Ignored-Tokens, "
    "X-Windrow-Ignored-Fields";

// Clients send headers of their own ("X-Stainless-Os"), so every requested name is allowed; none of
// them gives a page more rights than any other client has.
bool is_header_list(std::string_view list) {
  constexpr size_t kBytesMax = 4096;
  if (list.empty() || list.size() > kBytesMax) return false;
  while (true) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    while (name.starts_with(' '))
      name.remove_prefix(1);
    while (name.ends_with(' '))
      name.remove_suffix(1);
    if (!http::is_header_name(name)) return false;
    if (comma == list.size()) return true;
    list.remove_prefix(comma + 1);
  }
}

// scheme://host or scheme://host:port in lower case, as browsers write it.
bool is_origin(std::string_view text) {
  const size_t mark = text.find("://");
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view host = text.substr(mark + 3);
  return !host.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("+-.:/[]").find(c) != std::string_view::npos;
  }) && host.find('/') == std::string_view::npos;
}

}  // namespace

Result<CorsPolicy> CorsPolicy::make(std::vector<std::string> origins) {
  CorsPolicy policy;
  for (const std::string& origin : origins) {
    if (origin == "*") {
      if (origins.size() > 1) {
        return Error{ErrorKind::kInvalid, "\"*\" is every origin; give it alone, or leave it away"};
      }
      policy.any_ = true;
    } else if (!is_origin(origin)) {
      return Error{ErrorKind::kInvalid,
                   fmt::format("\"{}\" is no origin; it must be as browsers send it, such as "
                               "https://app.example or http://localhost:5173: no path, no slash "
                               "at the end, small letters; or \"*\"",
                               origin)};
    }
  }
  if (!policy.any_) policy.origins_ = std::move(origins);
  return policy;
}

bool CorsPolicy::allows(std::string_view origin) const {
  return any_ || std::ranges::find(origins_, origin) != origins_.end();
}

bool CorsPolicy::add_origin(const http::Headers& request, http::Headers& reply) const {
  if (any_) {
    if (!request.has("Origin")) return false;
    reply.set("Access-Control-Allow-Origin", "*");
    return true;
  }
  if (origins_.empty()) return false;
  // Also for a refusal: a cache must not give it to another page.
  reply.add("Vary", "Origin");
  const auto origin = request.get("Origin");
  if (!origin || !allows(*origin)) return false;
  reply.set("Access-Control-Allow-Origin", *origin);
  return true;
}

void CorsPolicy::add_headers(const http::Headers& request, http::Headers& reply) const {
  if (add_origin(request, reply)) reply.set("Access-Control-Expose-Headers", kExposed);
}

bool CorsPolicy::add_preflight_headers(const http::Headers& request, std::string_view methods,
                                       http::Headers& reply) const {
  if (!request.has("Access-Control-Request-Method")) return false;
  if (!add_origin(request, reply)) return false;
  reply.set("Access-Control-Allow-Methods", methods);
  if (const auto names = request.get("Access-Control-Request-Headers");
      names && is_header_list(*names)) {
    reply.set("Access-Control-Allow-Headers", *names);
  }
  reply.set("Access-Control-Max-Age", "600");
  return true;
}

}  // namespace windrow::api
