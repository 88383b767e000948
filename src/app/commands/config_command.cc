#include "app/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/settings/resolve_settings.h"
#include "json/writer.h"
#include "store/posix_disk.h"

namespace windrow::app {

namespace json = boost::json;

namespace {

// Whether a row is shown: with `only_changed` only one whose value is not the default.
bool is_shown(const ResolvedSettings& settings, const SettingRow& row, bool only_changed) {
  return !only_changed || value_of(settings.values, row) != value_of(Settings{}, row);
}

}  // namespace

json::object settings_json(const ResolvedSettings& settings, bool only_changed) {
  json::object object;
  for (const SettingRow& row : setting_rows()) {
    if (!is_shown(settings, row, only_changed)) continue;
    json::object shown{{"value", value_of(settings.values, row)},
                       {"source", settings.source_of(row)}};
    if (is_body_defaults(row)) {
      json::object sources;
      for (const auto& [field, source] : settings.body_default_sources)
        sources[field] = source;
      shown["sources"] = std::move(sources);
    }
    object[row.name] = std::move(shown);
  }
  return object;
}

std::string settings_text(const ResolvedSettings& settings, bool only_changed) {
  struct Line {
    std::string name;
    std::string value;
    std::string source;
  };
  std::vector<Line> lines;
  for (const SettingRow& row : setting_rows()) {
    if (!is_shown(settings, row, only_changed)) continue;
    const std::string source = settings.source_of(row);
    if (is_body_defaults(row) && source != "default") {
      for (const auto& [field, value] : settings.values.body_defaults) {
        lines.push_back({fmt::format("{}.{}", row.name, field), plain_json(value),
                         settings.body_default_sources.at(field)});
      }
      continue;
    }
    std::string value = plain_json(value_of(settings.values, row));
    // A stand-in says more in words: 0 threads are "one per core".
    if (source == "default" && !row.default_words.empty()) value = std::string(row.default_words);
    lines.push_back({std::string(row.name), std::move(value), source});
  }
  // One long value does not push all the others apart.
  constexpr size_t kValueWidthMax = 44;
  size_t name_width = 0;
  size_t value_width = 0;
  for (const Line& line : lines) {
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, std::min(line.value.size(), kValueWidthMax));
  }
  std::string text;
  for (const Line& line : lines) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", line.name, name_width, line.value, value_width,
                        line.source);
  }
  return text;
}

int config_show_command(const ConfigShowCommand& command, const Environment& environment) {
  store::PosixDisk disk;
  const Result<ResolvedSettings> settings = load_settings(command.flags, environment, disk);
  if (!settings) {
    fmt::print(stderr, "windrow: {}\n", settings.error().message);
    return 2;
  }
  for (const std::string& warning : settings->warnings) {
    fmt::print(stderr, "windrow: {}\n", warning);
  }
  if (command.json) {
    fmt::print("{}", pretty_json(settings_json(*settings, command.changed)));
    return 0;
  }
  const std::string text = settings_text(*settings, command.changed);
  if (text.empty()) fmt::print(stderr, "windrow: every setting has its default value\n");
  fmt::print("{}", text);
  return 0;
}

int config_flags_command() {
  json::array list;
  for (const SettingRow& row : setting_rows()) {
    json::array choices;
    for (const std::string_view choice : row.choices)
      choices.emplace_back(choice);
    list.push_back(json::object{{"name", row.name},
                                {"flag", is_flag(row)},
                                {"list", is_list(row)},
                                {"value_name", row.value_name},
                                {"choices", choices},
                                {"default", default_text(row)},
                                {"help", row.help},
                                {"variable", variable_of(row)},
                                {"alters_answers", row.alters_answers}});
  }
  fmt::print("{}\n", json::serialize(list));
  return 0;
}

}  // namespace windrow::app
