#include "report/answer_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "json/values.h"
#include "json/writer.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

const json::array* array_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

// Keeps a member that is there and not null.
void keep(const json::object& from, std::string_view name, json::object& to) {
  const json::value* value = from.if_contains(name);
  if (value != nullptr && !value->is_null()) to[name] = *value;
}

json::value call_of(const json::object& call) {
  json::object kept;
  const json::object* function = object_in(call, "function");
  const json::object& named = function == nullptr ? call : *function;
  keep(named, "name", kept);
  keep(named, "arguments", kept);
  keep(named, "input", kept);
  return kept;
}

json::value choice_content(const json::object& choice) {
  json::object kept;
  keep(choice, "text", kept);
  const json::object* message = object_in(choice, "message");
  if (message == nullptr) return kept;
  keep(*message, "content", kept);
  keep(*message, "refusal", kept);
  if (const json::array* calls = array_in(*message, "tool_calls")) {
    json::array made;
    for (const json::value& call : *calls) {
      if (call.is_object()) made.push_back(call_of(call.get_object()));
    }
    if (!made.empty()) kept["tool_calls"] = std::move(made);
  }
  return kept;
}

// A block of Messages, or an item of Responses: a text or a call. Null for others, such as
// thoughts.
json::value block_content(const json::object& block) {
  const std::string_view type = text_in(block, "type");
  if (type == "text" || type == "output_text")
    return json::object{{"text", text_in(block, "text")}};
  if (type == "refusal") return json::object{{"refusal", text_in(block, "refusal")}};
  if (type == "tool_use" || type == "function_call" || type == "custom_tool_call")
    return call_of(block);
  return nullptr;
}

json::array blocks_content(const json::array& blocks) {
  json::array kept;
  for (const json::value& value : blocks) {
    const json::object* block = value.if_object();
    if (block == nullptr) continue;
    if (const json::array* inner = array_in(*block, "content")) {
      for (json::value& part : blocks_content(*inner))
        kept.push_back(std::move(part));
    } else if (json::value part = block_content(*block); !part.is_null()) {
      kept.push_back(std::move(part));
    }
  }
  return kept;
}

template <class Content>
json::array each_object(const json::array& array, Content content) {
  json::array kept;
  for (const json::value& value : array) {
    if (value.is_object()) kept.push_back(content(value.get_object()));
  }
  return kept;
}

// What is left of a body of no known form.
json::object without_volatile(const json::object& body) {
  constexpr auto kVolatile = std::to_array<std::string_view>(
      {"id", "created", "created_at", "completed_at", "model", "usage", "system_fingerprint",
       "service_tier", "request_id", "timings"});
  json::object kept;
  for (const auto& [name, value] : body) {
    if (std::ranges::find(kVolatile, std::string_view(name)) == kVolatile.end()) kept[name] = value;
  }
  return kept;
}

// The text of one part of the content.
std::string part_text(const json::value& part) {
  const json::object* object = part.if_object();
  if (object == nullptr) return plain_json(part);
  std::string text;
  for (const std::string_view name : {"content", "text", "refusal"}) {
    if (const json::value* value = object->if_contains(name)) {
      text += value->is_string() ? std::string(value->get_string()) : plain_json(*value);
    }
  }
  const auto add_call = [&](const json::object& call) {
    const json::value* arguments = call.if_contains("arguments");
    if (arguments == nullptr) arguments = call.if_contains("input");
    const std::string given = arguments == nullptr     ? ""
                              : arguments->is_string() ? std::string(arguments->get_string())
                                                       : plain_json(*arguments);
    text += fmt::format("{}{}({})", text.empty() ? "" : " ", text_in(call, "name"), given);
  };
  if (const json::array* calls = array_in(*object, "tool_calls")) {
    for (const json::value& call : *calls)
      add_call(call.get_object());
  } else if (object->contains("name")) {
    add_call(*object);
  }
  return text.empty() && !object->contains("content") && !object->contains("text")
             ? plain_json(part)
             : text;
}

}  // namespace

json::value answer_content(const json::object& body) {
  if (const json::array* choices = array_in(body, "choices"))
    return each_object(*choices, choice_content);
  if (const json::array* output = array_in(body, "output")) return blocks_content(*output);
  if (const json::array* content = array_in(body, "content")) return blocks_content(*content);
  if (const json::array* data = array_in(body, "data")) {
    return each_object(*data, [](const json::object& item) -> json::value {
      const json::value* vector = item.if_contains("embedding");
      return vector == nullptr ? json::value(item) : *vector;
    });
  }
  if (const json::array* results = array_in(body, "results")) {
    return each_object(*results, [](const json::object& item) -> json::value {
      json::object kept;
      keep(item, "index", kept);
      keep(item, "relevance_score", kept);
      return kept;
    });
  }
  if (text_in(body, "object") == "program.result" && body.contains("result"))
    return json::array{body.at("result")};
  return without_volatile(body);
}

uint64_t content_hash(const json::object& body) {
  std::string text;
  append_compact_json(answer_content(body), text);
  return hash64(text);
}

std::string content_text(const json::object& body) {
  const json::value content = answer_content(body);
  const json::array* parts = content.if_array();
  if (parts == nullptr) return plain_json(content);
  // Choices are several answers; blocks are parts of one.
  const bool choices = body.contains("choices");
  std::string text;
  for (const json::value& part : *parts) {
    text += part_text(part);
    if (choices) break;
  }
  return text;
}

std::vector<std::string> finish_reasons_of(const json::object& body) {
  std::vector<std::string> reasons;
  const auto add = [&](std::string_view reason) {
    reasons.emplace_back(reason.empty() ? std::string_view("none") : reason);
  };
  if (const json::array* choices = array_in(body, "choices")) {
    for (const json::value& choice : *choices) {
      if (choice.is_object()) add(text_in(choice.get_object(), "finish_reason"));
    }
  } else if (body.contains("output")) {
    const json::object* details = object_in(body, "incomplete_details");
    add(details == nullptr ? text_in(body, "status") : text_in(*details, "reason"));
  } else if (body.contains("stop_reason")) {
    add(text_in(body, "stop_reason"));
  }
  return reasons;
}

std::optional<std::vector<double>> embedding_of(const json::object& body) {
  const json::array* data = array_in(body, "data");
  const json::object* first =
      data == nullptr || data->empty() ? nullptr : data->front().if_object();
  const json::array* numbers = first == nullptr ? nullptr : array_in(*first, "embedding");
  if (numbers == nullptr) return std::nullopt;
  std::vector<double> vector;
  vector.reserve(numbers->size());
  for (const json::value& number : *numbers) {
    if (!number.is_number()) return std::nullopt;
    vector.push_back(number.to_number<double>());
  }
  return vector;
}

std::optional<double> cosine(const std::vector<double>& one, const std::vector<double>& other) {
  if (one.size() != other.size()) return std::nullopt;
  double product = 0;
  double squares_one = 0;
  double squares_other = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    product += one[i] * other[i];
    squares_one += one[i] * one[i];
    squares_other += other[i] * other[i];
  }
  const double lengths = std::sqrt(squares_one) * std::sqrt(squares_other);
  if (!(lengths > 0)) return std::nullopt;
  return product / lengths;
}

}  // namespace windrow::report
