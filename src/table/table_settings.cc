#include "table/table_settings.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/utf8.h"
#include "json/parse.h"
#include "json/values.h"
#include "json/writer.h"

namespace windrow::table {
namespace {

constexpr std::string_view kId = "id";
constexpr std::string_view kDelimiter = "delimiter";
constexpr std::string_view kMembers = "schema members";
constexpr std::string_view kColumn = "column ";
constexpr std::string_view kNumber = "number of the record";

constexpr size_t kShownBytes = 60;

// A text as people recognise it, and a hash of all of it.
std::string described(std::string_view text) {
  std::string shown = utf8_repair(text.substr(0, kShownBytes));
  for (char& byte : shown) {
    if (static_cast<unsigned char>(byte) < ' ') byte = ' ';
  }
  return fmt::format("\"{}{}\", {} bytes, {}", shown, text.size() > kShownBytes ? "..." : "",
                     text.size(), to_hex(hash64(text)));
}

}  // namespace

std::vector<std::string> members_of_schema(const boost::json::object& schema) {
  std::vector<std::string> members;
  if (const boost::json::object* properties = object_in(schema, "properties")) {
    for (const auto& property : *properties)
      members.emplace_back(property.key());
  }
  return members;
}

std::vector<batch::JobSetting> table_settings(const RowRecipe& recipe, const ReadOptions& options) {
  std::vector<batch::JobSetting> settings;
  const auto add = [&](std::string_view name, std::string value) {
    settings.push_back({std::string(name), std::move(value)});
  };
  add(kId, recipe.id_column.empty() ? std::string(kNumber)
                                    : fmt::format("{}{}", kColumn, recipe.id_column));
  if (options.delimiter != 0) add(kDelimiter, delimiter_name(options.delimiter));
  if (recipe.system) add("system", described(*recipe.system));
  if (recipe.prompt) add("prompt", described(*recipe.prompt));
  if (recipe.embed) add("embed", described(*recipe.embed));
  if (recipe.schema) {
    add("schema", described(boost::json::serialize(*recipe.schema)));
    boost::json::array members;
    for (const std::string& member : members_of_schema(*recipe.schema))
      members.emplace_back(member);
    add(kMembers, boost::json::serialize(members));
  }
  if (recipe.max_tokens) add("max-tokens", fmt::format("{}", *recipe.max_tokens));
  if (recipe.temperature) add("temperature", plain_json(*recipe.temperature));
  return settings;
}

std::optional<RecordedTable> recorded_table(const std::vector<batch::JobSetting>& settings) {
  std::optional<RecordedTable> table;
  for (const batch::JobSetting& setting : settings) {
    if (setting.name != kId) continue;
    table.emplace();
    if (setting.value.starts_with(kColumn)) table->id_column = setting.value.substr(kColumn.size());
  }
  if (!table) return std::nullopt;
  for (const batch::JobSetting& setting : settings) {
    if (setting.name == kDelimiter) {
      for (const char delimiter : {',', ';', '\t', '|'}) {
        if (setting.value == delimiter_name(delimiter)) table->delimiter = delimiter;
      }
      if (table->delimiter == 0 && setting.value.size() == 3) table->delimiter = setting.value[1];
    } else if (setting.name == kMembers) {
      table->structured = true;
      const auto parsed = parse_json(setting.value);
      const auto* value = std::get_if<boost::json::value>(&parsed);
      if (value == nullptr || !value->is_array()) continue;
      for (const boost::json::value& member : value->get_array())
        if (member.is_string()) table->members.emplace_back(member.get_string());
    }
  }
  return table;
}

}  // namespace windrow::table
