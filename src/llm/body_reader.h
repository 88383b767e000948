// The body of a request, from JSON to Request: the same code for the rows of a file and the calls
// of a server, so that a body means the same in both. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
  bool seeded = false;  // an equal body gets the same seed (question_of in question.h)
};

// Adds the defaults that `endpoint` knows to `body`, and removes the fields that it does not know
// if the rules say so. Returns the names of the removed ones.
std::vector<std::string> complete_body(Endpoint endpoint, const BodyRules& rules,
                                       boost::json::object& body);

// Reads a body that complete_body has completed. `own_seed`: the seed where neither the body nor
// the rules have one. Failures are those of parse_request.
std::variant<ReadBody, Failure> read_body(Endpoint endpoint, const BodyRules& rules,
                                          const boost::json::object& body, uint64_t own_seed);

}  // namespace windrow::llm
