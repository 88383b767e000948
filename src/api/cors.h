// CORS: which web pages of other origins may read the answers (the Fetch standard). Pure. By
// default none may. Credentials are never allowed: a page sets its key in a header, and there are
// no cookies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/headers.h"

namespace windrow::api {

class CorsPolicy {
 public:
  // Allows no page.
  CorsPolicy() = default;

  // "https://app.example", "http://localhost:5173"; "*" alone allows any page. kInvalid names what
  // is not an origin and what it should be.
  static Result<CorsPolicy> make(std::vector<std::string> origins);

  // Adds the headers for the reply to a request with these headers.
  void add_headers(const http::Headers& request, http::Headers& reply) const;

  // Adds the headers for the reply to a preflight request (OPTIONS). `methods` are those of the
  // path: "GET, HEAD". False if it is no preflight request, or its page is not allowed.
  bool add_preflight_headers(const http::Headers& request, std::string_view methods,
                             http::Headers& reply) const;

 private:
  bool allows(std::string_view origin) const;
  bool add_origin(const http::Headers& request, http::Headers& reply) const;

  bool any_ = false;
  std::vector<std::string> origins_;
};

}  // namespace windrow::api
