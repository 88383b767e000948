// Packing: requests that embed one text each are sent to an upstream in one call. Which may be
// packed, how their bodies become one, and how its reply is divided. Texts and vectors are copied
// as they are written. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// Equal for requests that may be packed into one call: the raw body without its input. Nothing for
// a request that cannot be packed.
std::optional<std::string> pack_key(const Request& request);

struct PackedRequest {
  Request request;
  std::vector<int64_t> sizes;  // of the inputs, in bytes
};

// `requests` have equal pack_keys.
PackedRequest pack_requests(std::span<const Request* const> requests);

// The outcome of each packed request, in their order. An answer is divided by the `index` of its
// elements, and its usage in proportion to the sizes of the inputs, with the same sum. If its
// elements do not match the inputs one to one, all requests get a kTransient failure, because the
// vectors cannot be assigned. A failure of the call is one of each request.
std::vector<Outcome> unpack_outcome(Outcome whole, std::span<const int64_t> sizes);

}  // namespace windrow::llm
