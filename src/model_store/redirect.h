// Where a redirect leads. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/url.h"

namespace windrow::model_store {

// The URL that the Location header of a reply from `from` means (RFC 3986, 5.2; RFC 9110, 10.2.2).
// kInvalid where it is none, or would go on without the TLS that `from` has.
Result<http::Url> redirect_target(const http::Url& from, std::string_view location);

// Whether both are one server: then what is secret for one is so for the other.
bool same_origin(const http::Url& a, const http::Url& b);

}  // namespace windrow::model_store
