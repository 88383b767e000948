#include "engine/structure/tool_schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "json/limits.h"

namespace windrow::engine {

namespace json = boost::json;

namespace {

constexpr std::string_view kToolPlace = "tools[";

Error fault(const CallableTool& tool, std::string_view what) {
  return {ErrorKind::kInvalid, fmt::format("{}: {}", tool.place, what)};
}

bool names_object(const json::value& type) {
  if (type.is_string()) return type == "object";
  const json::array* types = type.if_array();
  return types != nullptr && std::ranges::find(*types, json::value("object")) != types->end();
}

// Without a schema there are no arguments.
Result<json::value> schema_of(const json::object& function, const CallableTool& tool) {
  const json::value* parameters = function.if_contains("parameters");
  if (parameters == nullptr || parameters->is_null())
    return json::value{{"type", "object"}, {"properties", json::object()}};
  if (*parameters == json::value(true)) return json::value{{"type", "object"}};
  const json::object* given = parameters->if_object();
  if (given == nullptr)
    return fault(tool, "it is no JSON Schema of an object, which arguments are");
  json::object schema = *given;
  const json::value* type = schema.if_contains("type");
  if (type != nullptr && type->is_null()) {
    schema.erase("type");
  } else if (type != nullptr && !names_object(*type) && !schema.contains("$ref")) {
    return fault(tool, "its type is not object, and arguments are objects");
  }
  return json::value(std::move(schema));
}

const json::object& function_of(const json::value& tool) {
  return tool.at("function").as_object();
}

bool says_strict(const json::object& function) {
  const json::value* strict = function.if_contains("strict");
  return strict != nullptr && *strict == json::value(true);
}

json::array tools_of(const llm::StructureSpec& spec) {
  // The request reader has checked them.
  const bool beside_form = spec.kind != llm::StructureSpec::Kind::kToolCalls;
  return json::parse(beside_form ? spec.tools : spec.text, {}, {.max_depth = kJsonDepthMax})
      .as_array();
}

}  // namespace

Result<std::vector<CallableTool>> callable_tools(const llm::StructureSpec& spec) {
  const llm::ToolChoice& choice = spec.tool_choice;
  std::vector<CallableTool> tools;
  const json::array array = tools_of(spec);
  for (size_t i = 0; i < array.size(); ++i) {
    const json::object& function = function_of(array[i]);
    CallableTool tool{.name = std::string(function.at("name").as_string()),
                      .place = fmt::format("{}{}].function.parameters", kToolPlace, i),
                      .schema = {},
                      .strict = choice.use != llm::ToolUse::kAuto || says_strict(function),
                      .any_order = choice.any_order};
    if (choice.use == llm::ToolUse::kNamed && tool.name != choice.name) continue;
    Result<json::value> schema = schema_of(function, tool);
    if (!schema && tool.strict) return schema.error();
    tool.schema = schema ? *std::move(schema) : json::value{{"type", "object"}};
    tools.push_back(std::move(tool));
  }
  return tools;
}

bool may_go_unenforced(const llm::StructureSpec& spec) {
  if (spec.kind != llm::StructureSpec::Kind::kToolCalls) return false;
  if (spec.tool_choice.use != llm::ToolUse::kAuto) return false;
  const json::array tools = tools_of(spec);
  return std::ranges::none_of(
      tools, [](const json::value& tool) { return says_strict(function_of(tool)); });
}

std::optional<std::string> tool_at_fault(std::string_view message) {
  if (!message.starts_with(kToolPlace)) return std::nullopt;
  return std::string(message.substr(0, message.find(": ")));
}

}  // namespace windrow::engine
