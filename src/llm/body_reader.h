// The body of a request, from JSON to Request, and by what equal bodies are recognised: the same
// code for the rows of a file and the calls of a server, so that a body means the same in both.
// Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "llm/request_json.h"

namespace windrow::llm {

struct BodyRules {
  boost::json::object defaults;  // values of fields that a body lacks or has as null
  uint64_t seed = 0;             // for bodies without one; 0: read_body's own_seed
  UnknownFields unknown_fields = UnknownFields::kRefuse;
};

struct ReadBody {
  Request request;
  bool seeded = false;  // an equal body gets the same seed (question_of)
};

// Adds the defaults that `endpoint` knows to `body`, and removes the fields that it does not know
// if the rules say so. Returns the names of the removed ones.
std::vector<std::string> complete_body(Endpoint endpoint, const BodyRules& rules,
                                       boost::json::object& body);

// Reads a body that complete_body has completed. `own_seed`: the seed where neither the body nor
// the rules have one. Failures are those of parse_request.
std::variant<ReadBody, Failure> read_body(Endpoint endpoint, const BodyRules& rules,
                                          const boost::json::object& body, uint64_t own_seed);

// Whether a completed body has a seed.
bool has_seed(const boost::json::object& body);

// The identity of a request for single-flight and caches: equal for requests that have the same
// answer. Nothing if the answer is drawn at random. `body` is the text that `request` was read
// from. White space does not count, nor do fields about delivery: stream, stream_options, priority,
// service_tier. `seeded`: an equal body has the same seed; without it only deterministic requests
// have a question. For a raw request neither is needed (repeat_key in raw_body.h).
std::optional<Hash128> question_of(const Request& request, std::string_view body, bool seeded);

}  // namespace windrow::llm
