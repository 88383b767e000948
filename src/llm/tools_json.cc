#include "llm/tools_json.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

namespace windrow::llm {

namespace json = boost::json;

namespace {

// As deep as a whole line may be.
constexpr size_t kDepthMax = 128;

// {"type": "function", "function": {"name": ...}}
Problem read_function(const std::string& param, const json::value& value,
                      const json::object*& function) {
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong_kind(param, "an object with type and function", value);
  const json::value* type = object->if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return bad_value(param + ".type",
                     fmt::format("{0} has no type; {0}.type must be \"function\"", param));
  }
  if (type->get_string() != "function") {
    return unsupported(param + ".type",
                       fmt::format("{}.type is \"{}\"; only \"function\" is accepted", param,
                                   shown(type->get_string())));
  }
  const json::value* member = object->if_contains("function");
  function = member == nullptr ? nullptr : member->if_object();
  if (function == nullptr) {
    return bad_value(param + ".function",
                     fmt::format("{0} has no function; {0}.function must be an object", param));
  }
  const json::value* name = function->if_contains("name");
  if (name != nullptr && name->is_string() && !name->get_string().empty()) return std::nullopt;
  return bad_value(
      param + ".function.name",
      fmt::format("{}.function has no name; it must be a string that is not empty", param));
}

// An object, or the text of one, which is checked and stays as it was written.
Problem read_arguments(const std::string& param, const json::value* value, json::value& arguments) {
  if (value == nullptr || value->is_null()) return std::nullopt;  // a call without any
  if (value->is_object()) {
    arguments = *value;
    return std::nullopt;
  }
  const json::string* text = value->if_string();
  if (text == nullptr) return wrong_kind(param, "a string of JSON, or an object", *value);
  if (text->empty()) return std::nullopt;
  json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code error;
  const json::value parsed = json::parse(*text, error, json::storage_ptr(), options);
  if (error || !parsed.is_object()) {
    return bad_value(
        param, fmt::format("{} is \"{}\", which is not a JSON object; it must be one, as text",
                           param, shown(*text)));
  }
  arguments = *value;
  return std::nullopt;
}

Problem check_members(const std::string& param, const json::object& object,
                      std::initializer_list<std::string_view> known) {
  for (const auto& [key, member] : object) {
    bool found = member.is_null();
    for (const std::string_view name : known)
      found = found || key == name;
    if (found) continue;
    const std::string place = fmt::format("{}.{}", param, shown(key));
    return unsupported(place, fmt::format("{} is not supported; a tool call has id, type and "
                                          "function, and this a name and arguments",
                                          place));
  }
  return std::nullopt;
}

// Clients that put a stream together keep the index of its deltas.
Problem read_tool_call(const std::string& param, const json::value& value, json::object& call) {
  const json::object* function = nullptr;
  if (Problem problem = read_function(param, value, function)) return problem;
  const json::object& object = value.get_object();
  const std::string function_param = param + ".function";
  if (Problem problem = check_members(param, object, {"id", "type", "function", "index"}))
    return problem;
  if (Problem problem = check_members(function_param, *function, {"name", "arguments"})) {
    return problem;
  }
  json::value arguments = json::object();
  if (Problem problem = read_arguments(function_param + ".arguments",
                                       function->if_contains("arguments"), arguments)) {
    return problem;
  }
  const json::value* id = object.if_contains("id");
  if (id != nullptr && !id->is_null()) {
    std::string text;
    if (Problem problem = read_string(*id, param + ".id", text)) return problem;
    call["id"] = text;
  }
  call["type"] = "function";
  call["function"] =
      json::object{{"name", function->at("name")}, {"arguments", std::move(arguments)}};
  return std::nullopt;
}

}  // namespace

Problem read_tools(std::string_view name, const json::value& value, json::array& tools) {
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_kind(name, "an array of tools", value);
  for (size_t i = 0; i < array->size(); ++i) {
    const json::object* function = nullptr;
    Problem problem = read_function(fmt::format("{}[{}]", name, i), (*array)[i], function);
    if (problem) return problem;
  }
  tools = *array;
  return std::nullopt;
}

Problem read_tool_calls(std::string_view name, const json::value& value, json::array& calls) {
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_kind(name, "an array of tool calls", value);
  for (size_t i = 0; i < array->size(); ++i) {
    json::object call;
    if (Problem problem = read_tool_call(fmt::format("{}[{}]", name, i), (*array)[i], call)) {
      return problem;
    }
    calls.emplace_back(std::move(call));
  }
  return std::nullopt;
}

}  // namespace windrow::llm
