#include "llm/body_reader.h"

#include <utility>

#include "llm/question.h"

namespace windrow::llm {

namespace json = boost::json;

std::vector<std::string> complete_body(Endpoint endpoint, const BodyRules& rules,
                                       json::object& body) {
  std::vector<std::string> removed;
  if (rules.unknown_fields == UnknownFields::kIgnore) removed = take_unknown_fields(endpoint, body);
  for (const auto& [name, value] : rules.defaults) {
    // A default for another endpoint does not concern this body.
    if (find_rule(endpoint, name) == nullptr) continue;
    json::value& field = body[name];
    if (field.is_null()) field = value;
  }
  return removed;
}

std::variant<ReadBody, Failure> read_body(Endpoint endpoint, const BodyRules& rules,
                                          const json::object& body, uint64_t own_seed) {
  auto parsed = parse_request(endpoint, body, rules.seed != 0 ? rules.seed : own_seed);
  if (auto* failure = std::get_if<Failure>(&parsed)) return std::move(*failure);
  return ReadBody{.request = std::move(std::get<Request>(parsed)),
                  .seeded = rules.seed != 0 || has_seed(body)};
}

}  // namespace windrow::llm
