// CORS: which pages of other sites may read the answers (the Fetch standard). Pure. Off by default:
// no page may. Credentials are never allowed: a key comes in a header that a page sets itself, and
// there are no cookies here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/headers.h"

namespace windrow::api {

class CorsPolicy {
 public:
  // No page may.
  CorsPolicy() = default;

  // "https://app.example", "http://localhost:5173"; "*" alone: any page. kInvalid says what is no
  // origin and what it should be.
  static Result<CorsPolicy> make(std::vector<std::string> origins);

  // Adds what a reply to a request with these headers needs.
  void add_headers(const http::Headers& request, http::Headers& reply) const;

  // Of an OPTIONS request that asks beforehand: what its reply needs. `methods` are those of the
  // path: "GET, HEAD". False: it asks nothing of that kind, or its page may not.
  bool add_preflight_headers(const http::Headers& request, std::string_view methods,
                             http::Headers& reply) const;

 private:
  bool allows(std::string_view origin) const;
  bool add_origin(const http::Headers& request, http::Headers& reply) const;

  bool any_ = false;
  std::vector<std::string> origins_;
};

}  // namespace windrow::api
