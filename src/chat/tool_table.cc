#include "chat/tool_table.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "chat/marks.h"
#include "json/scanner.h"

namespace windrow::chat {

namespace json = boost::json;

namespace {

const json::object* member_object(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  const json::value* member = object == nullptr ? nullptr : object->if_contains(name);
  return member == nullptr ? nullptr : member->if_object();
}

// By what a parameter's schema says of its type.
ValueKind kind_of_schema(const json::value& schema) {
  const json::object* object = schema.if_object();
  if (object == nullptr) return ValueKind::kEither;
  if (const json::value* type = object->if_contains("type")) {
    if (type->is_string()) return *type == "string" ? ValueKind::kString : ValueKind::kJson;
    if (const json::array* types = type->if_array()) {
      const bool string = std::ranges::find(*types, json::value("string")) != types->end();
      if (!string) return ValueKind::kJson;
      return types->size() == 1 ? ValueKind::kString : ValueKind::kEither;
    }
  }
  const json::value* values = object->if_contains("enum");
  if (values != nullptr && values->is_array() && !values->get_array().empty() &&
      std::ranges::all_of(values->get_array(), [](const json::value& v) { return v.is_string(); }))
    return ValueKind::kString;
  return ValueKind::kEither;
}

}  // namespace

ToolTable::ToolTable(const json::array& tools) {
  for (const json::value& tool : tools) {
    const json::object* function = member_object(tool, "function");
    if (function == nullptr) continue;
    const json::value* name = function->if_contains("name");
    if (name == nullptr || !name->is_string()) continue;
    Parameters& parameters = tools_[std::string(name->get_string())];
    const json::value* schema = function->if_contains("parameters");
    const json::object* properties =
        schema == nullptr ? nullptr : member_object(*schema, "properties");
    if (properties == nullptr) continue;
    for (const auto& [key, value] : *properties)
      parameters.insert_or_assign(std::string(key), kind_of_schema(value));
  }
}

bool ToolTable::begins_one(std::string_view begin) const {
  const auto found = tools_.lower_bound(begin);
  return found != tools_.end() && found->first.starts_with(begin);
}

ValueKind ToolTable::kind_of(std::string_view name, std::string_view parameter) const {
  const auto tool = tools_.find(name);
  if (tool == tools_.end()) return ValueKind::kEither;
  const auto found = tool->second.find(parameter);
  return found == tool->second.end() ? ValueKind::kEither : found->second;
}

namespace {

// The JSON that `text` is as a whole, or nothing.
std::string json_of(std::string_view text) {
  std::string value;
  JsonScanner scan;
  if (scan.take(text, value) != text.size()) return {};
  // A number is known to be over by what follows.
  std::string beyond;
  if (scan.state() == JsonScanner::State::kGoing) scan.take(",", beyond);
  return scan.state() == JsonScanner::State::kWhole ? value : std::string();
}

}  // namespace

std::string in_json_string(std::string_view text) {
  const std::string quoted = boost::json::serialize(boost::json::string(text));
  return quoted.substr(1, quoted.size() - 2);
}

std::string tagged_value_to_json(std::string_view text, ValueKind kind) {
  if (kind != ValueKind::kString) {
    const std::string_view bare = without_space(text);
    if (bare == "True") return "true";
    if (bare == "False") return "false";
    if (bare == "None") return "null";
    const bool quoted = bare.starts_with('"');
    if (std::string value = json_of(bare);
        !value.empty() && (kind == ValueKind::kJson || !quoted)) {
      return value;
    }
  }
  return '"' + in_json_string(text) + '"';
}

}  // namespace windrow::chat
