// The body of an OpenAI request as JSON -> Request. Pure; every body field has one row in the table
// of request_json.cc, which also prints the three lists of docs/formats.md: honoured, accepted
// without effect, refused. A field that is in none of them is refused by name.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// "/v1/chat/completions" and "/v1/completions"; nothing for any other.
std::optional<Endpoint> endpoint_of(std::string_view url);
std::string_view url_of(Endpoint endpoint);

// Every problem is a Failure with status 400, the param at fault, and what would be accepted.
// The result's seed is `seed_default` unless the body has one.
std::variant<Request, Failure> parse_request(Endpoint endpoint, const boost::json::object& body,
                                             uint64_t seed_default);

// What becomes of a body field, for the documents and for the test that holds them to the code.
enum class FieldUse : uint8_t { kHonoured, kWithoutEffect, kRefused };

struct FieldRule {
  std::string_view name;
  FieldUse use;
  bool chat;                // belongs to /v1/chat/completions
  bool completion;          // belongs to /v1/completions
  std::string_view values;  // what is accepted, as the documents and error texts say it
};

std::span<const FieldRule> field_rules();

}  // namespace windrow::llm
