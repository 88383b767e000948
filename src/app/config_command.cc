#include "app/config_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>

#include "app/load_settings.h"
#include "store/posix_disk.h"

namespace windrow::app {

namespace json = boost::json;

json::array settings_json(const ResolvedSettings& settings) {
  json::array list;
  for (const SettingRow& row : setting_rows()) {
    list.push_back(json::object{{"name", row.name},
                                {"value", value_of(settings.values, row)},
                                {"source", settings.source_of(row)}});
  }
  return list;
}

std::string settings_text(const ResolvedSettings& settings) {
  struct Line {
    std::string name;
    std::string value;
    std::string source;
  };
  std::vector<Line> lines;
  size_t value_width = 0;
  for (const SettingRow& row : setting_rows()) {
    const std::string source = settings.source_of(row);
    std::string value = json::serialize(value_of(settings.values, row));
    // A stand-in says more in words: 0 threads are "one per core".
    if (source == "default" && !row.default_words.empty()) value = std::string(row.default_words);
    value_width = std::max(value_width, value.size());
    lines.push_back({std::string(row.name), std::move(value), source});
  }
  std::string text;
  for (const Line& line : lines) {
    text += fmt::format("{:<20}{:<{}}{}\n", line.name, line.value, value_width + 2, line.source);
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
  fmt::print("{}", command.json ? json::serialize(settings_json(*settings)) + "\n"
                                : settings_text(*settings));
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
