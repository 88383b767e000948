// Rows that embed one text each and go to a server elsewhere in one call: which may, how their
// bodies become one, and how its reply becomes theirs again. Texts and vectors are cut out and put
// together as they were written. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// What requests have in common that may go in one call: everything of the raw body but its one
// input. Nothing: it goes by itself.
std::optional<std::string> pack_key(const Request& request);

struct PackedRequest {
  Request request;
  std::vector<int64_t> sizes;  // of each input, in bytes
};

// `requests` have equal pack_keys.
PackedRequest pack_requests(std::span<const Request* const> requests);

// What each of them gets, in their order, of what the call got. An answer is taken apart by the
// `index` of its elements, and its usage by the sizes of the inputs, sums preserved. One whose
// elements do not match the inputs one to one is a kTransient failure of all: nobody could tell
// whose is whose. A failure of the call is each one's.
std::vector<Outcome> unpack_outcome(Outcome whole, std::span<const int64_t> sizes);

}  // namespace windrow::llm
