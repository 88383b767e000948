#include "llm/body_reader.h"

#include <array>
#include <boost/json/parser.hpp>
#include <utility>

#include "base/json_depth.h"
#include "base/utf8.h"
#include "llm/question.h"

namespace windrow::llm {

namespace json = boost::json;

std::variant<json::value, JsonFault> parse_json(std::string_view text, json::storage_ptr memory) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  std::array<unsigned char, 4096> stack;
  json::parser parser(std::move(memory), options, stack.data(), stack.size());
  boost::system::error_code error;
  const size_t read = parser.write(text.data(), text.size(), error);
  if (!error) return parser.release();
  JsonFault fault{.byte = read + 1, .reason = error.message()};
  if (error == json::error::too_deep) {
    fault.kind = JsonFault::Kind::kTooDeep;
  } else if (utf8_repair(text) != text) {
    fault.kind = JsonFault::Kind::kNotUtf8;
  }
  return fault;
}

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
