// The body of an OpenAI request as JSON -> Request. Pure; every body field has one row in the table
// of request_json.cc, which also prints the three lists of docs/formats.md: honoured, accepted
// without effect, refused. A field that is in none of them is refused by name.
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

// The endpoint of a path such as "/v1/chat/completions"; nothing where there is none.
std::optional<Endpoint> endpoint_of(std::string_view url);
std::string_view url_of(Endpoint endpoint);

// All endpoints, in the order of Endpoint, and their urls as a sentence has them: "a, b or c".
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

// Every problem is a Failure with status 400, the param at fault, and what would be accepted.
// The result's seed is `seed_default` unless the body has one.
std::variant<Request, Failure> parse_request(Endpoint endpoint, const boost::json::object& body,
                                             uint64_t seed_default);

// What becomes of fields of a body that are in no row of the table. A row that refuses its field
// refuses it in either case: the field is known, and asks for what cannot be done.
enum class UnknownFields : uint8_t { kRefuse, kIgnore };

// For kIgnore: takes the fields that `endpoint` does not know out of `body` and returns their names
// in the order of the body; those that are null are not named.
std::vector<std::string> take_unknown_fields(Endpoint endpoint, boost::json::object& body);

// What is wrong with one field, whatever a body has beside it: for values that are set as defaults
// of bodies still unknown. What two fields say together is not looked at.
std::optional<Failure> check_field(Endpoint endpoint, std::string_view name,
                                   const boost::json::value& value);

// What becomes of a body field, for the documents and for the test that holds them to the code.
enum class FieldUse : uint8_t {
  kHonoured,
  kWithoutEffect,
  kRefused,  // unless the value asks for what happens anyway
};

// A name has more than one row where endpoints read it differently, never two for one endpoint.
struct FieldRule {
  std::string_view name;
  FieldUse use = FieldUse::kHonoured;
  EndpointSet endpoints;

  // What is accepted, as the documents and error texts say it. Of a refused field it is JSON, and
  // nothing where no value is accepted.
  std::string_view values;

  std::string_view instead;  // kRefused: why, and what to do
};

std::span<const FieldRule> field_rules();

// The row of a field, or nullptr where the endpoint has none of this name.
const FieldRule* find_rule(Endpoint endpoint, std::string_view name);

}  // namespace windrow::llm
