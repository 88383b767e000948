#include "llm/tools_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "json/depth.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

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
  boost::system::error_code error;
  const json::value parsed = json::parse(*text, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !parsed.is_object()) {
    return bad_value(
        param, fmt::format("{} is \"{}\", which is not a JSON object; it must be one, as text",
                           param, shown(*text)));
  }
  arguments = *value;
  return std::nullopt;
}

// `has` says what there may be.
Problem check_members(const std::string& param, const json::object& object,
                      std::initializer_list<std::string_view> known, std::string_view has) {
  for (const auto& [key, member] : object) {
    bool found = member.is_null();
    for (const std::string_view name : known)
      found = found || key == name;
    if (found) continue;
    const std::string place = fmt::format("{}.{}", param, shown(key));
    return unsupported(place, fmt::format("{} is not supported; {}", place, has));
  }
  return std::nullopt;
}

// What can stand in every family's calls without being taken for a part of them. Names of tools
// that come from servers elsewhere have dots, slashes and colons; others keep to OpenAI's, which
// has none of these and 64 at most.
bool is_tool_name(std::string_view name) {
  constexpr size_t kBytesMax = 128;
  return name.size() <= kBytesMax && std::ranges::all_of(name, [](char byte) {
           return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= '0' && byte <= '9') ||
                  std::string_view("_-./:").find(byte) != std::string_view::npos;
         });
}

Problem read_tool(const std::string& param, const json::value& value, json::object& tool) {
  const json::object* function = nullptr;
  if (Problem problem = read_function(param, value, function)) return problem;
  tool = value.get_object();
  const std::string function_param = param + ".function";
  constexpr std::string_view kHas =
      "a tool has the members type and function, and function has name, description, parameters "
      "and "
      "strict";
  if (Problem problem = check_members(param, tool, {"type", "function", "cache_control"}, kHas))
    return problem;
  // What it returns is shown by templates that were made for such descriptions.
  if (Problem problem =
          check_members(function_param, *function,
                        {"name", "description", "parameters", "strict", "return"}, kHas)) {
    return problem;
  }
  const std::string_view name = function->at("name").get_string();
  if (!is_tool_name(name)) {
    return bad_value(function_param + ".name",
                     fmt::format("{}.name is \"{}\"; a name has at most 128 letters and digits of "
                                 "ASCII, and of these: _ - . / :",
                                 function_param, shown(name)));
  }
  if (const json::value* parameters = function->if_contains("parameters");
      parameters != nullptr && !parameters->is_null() && !parameters->is_object()) {
    return wrong_kind(function_param + ".parameters", "a JSON Schema, which is an object",
                      *parameters);
  }
  tool.erase("cache_control");  // what prompts have in common is shared anyway
  return std::nullopt;
}

// A call is an answer's, sent back: what the client's library keeps beside it (the index of a
// stream's deltas, parsed arguments, a vendor's own members) is left out.
Problem read_tool_call(const std::string& param, const json::value& value, json::object& call) {
  const json::object* function = nullptr;
  if (Problem problem = read_function(param, value, function)) return problem;
  const json::object& object = value.get_object();
  const std::string function_param = param + ".function";
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
    json::object tool;
    if (Problem problem = read_tool(fmt::format("{}[{}]", name, i), (*array)[i], tool))
      return problem;
    tools.emplace_back(std::move(tool));
  }
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
