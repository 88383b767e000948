// Bodies of requests for tests: the fields that matter, beside what the endpoint needs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "llm/request_json.h"

namespace windrow::llm::testing {

inline std::string_view needed(Endpoint endpoint) {
  if (endpoint == Endpoint::kChatCompletions)
    return R"("messages":[{"role":"user","content":"hi"}])";
  if (endpoint == Endpoint::kCompletions) return R"("prompt":"p")";
  if (endpoint == Endpoint::kEmbeddings) return R"("input":"i")";
  return R"("query":"q","documents":["d"])";
}

// What the endpoint needs comes first; a field given again takes its place.
inline std::variant<Request, Failure> parse(Endpoint endpoint, std::string_view fields) {
  const std::string body =
      fmt::format("{{{}{}{}}}", needed(endpoint), fields.empty() ? "" : ",", fields);
  return parse_request(endpoint, boost::json::parse(body).as_object(), 42);
}

inline Request accepted(Endpoint endpoint, std::string_view fields) {
  auto result = parse(endpoint, fields);
  if (const auto* failure = std::get_if<Failure>(&result)) {
    ADD_FAILURE() << fields << ": " << failure->message;
    return {};
  }
  return std::get<Request>(std::move(result));
}

inline Failure refused(Endpoint endpoint, std::string_view fields) {
  auto result = parse(endpoint, fields);
  if (std::holds_alternative<Request>(result)) {
    ADD_FAILURE() << "accepted: " << fields;
    return {};
  }
  return std::get<Failure>(std::move(result));
}

}  // namespace windrow::llm::testing
