// The body of an OpenAI request as JSON -> Request. Every body field has a row in a table
// (request_fields.h): honoured, accepted without effect, or refused; docs/formats.md has the same
// three lists. A field without a row is refused by name. Pure; any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// The endpoint of a path such as "/v1/chat/completions"; nothing if there is none.
std::optional<Endpoint> endpoint_of(std::string_view url);
std::string_view url_of(Endpoint endpoint);

// All endpoints, in the order of Endpoint, and their urls for a sentence: "a, b or c".
std::span<const Endpoint> endpoints();
std::string endpoint_urls();

class EndpointSet {
 public:
  constexpr EndpointSet() = default;
  constexpr EndpointSet(std::initializer_list<Endpoint> members) {
    for (const Endpoint member : members)
      bits_ = static_cast<uint8_t>(bits_ | bit(member));
  }

  constexpr bool contains(Endpoint endpoint) const { return (bits_ & bit(endpoint)) != 0; }

 private:
  static constexpr uint8_t bit(Endpoint endpoint) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(endpoint));
  }

  uint8_t bits_ = 0;
};

// Returns the request, or a Failure with status 400, the param at fault and what would be accepted.
// The seed is `seed_default` unless the body has one.
std::variant<Request, Failure> parse_request(Endpoint endpoint, const boost::json::object& body,
                                             uint64_t seed_default);

// Whether unknown fields, which have no row in the table, are refused or removed. A field whose row
// refuses it is known, and refused in either case.
enum class UnknownFields : uint8_t { kRefuse, kIgnore };

// For kIgnore: removes the fields that `endpoint` does not know from `body` and returns their names
// in the order of the body, without those that are null.
std::vector<std::string> take_unknown_fields(Endpoint endpoint, boost::json::object& body);

// What is wrong with the value of one field by itself, or nothing: for defaults, which are set
// before the bodies are known.
std::optional<Failure> check_field(Endpoint endpoint, std::string_view name,
                                   const boost::json::value& value);

// How a body field is used, for the documents and the test that compares them with the code.
enum class FieldUse : uint8_t {
  kHonoured,
  kWithoutEffect,
  kRefused,  // unless its value asks for the default behaviour
};

// A row. A name has several rows if endpoints read it differently, but only one for each endpoint.
struct FieldRule {
  std::string_view name;
  FieldUse use = FieldUse::kHonoured;
  EndpointSet endpoints;

  // The accepted values, for documents and error messages. For a refused field it is JSON, and
  // empty if no value is accepted.
  std::string_view values;

  std::string_view instead;  // kRefused: why, and what to do
};

std::span<const FieldRule> field_rules();

// The row of a field, or nullptr if the endpoint has no field of this name.
const FieldRule* find_rule(Endpoint endpoint, std::string_view name);

}  // namespace windrow::llm
