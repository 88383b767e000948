#include "app/commands/commands.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <sstream>

namespace windrow::app {
namespace {

ResolvedSettings example() {
  ResolvedSettings settings;
  settings.values.rows_max = 5;
  settings.sources["rows-max"] = "windrow.toml:1";
  settings.values.body_defaults = {{"seed", 1}, {"temperature", 0.5}};
  settings.sources["set"] = "flag --set";
  settings.body_default_sources = {{"seed", "windrow.toml:3"}, {"temperature", "flag --set"}};
  return settings;
}

// The line of a setting, its columns divided by "|".
std::string line_of(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name + "  ")) continue;
    std::string columns;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool gap = line.compare(i, 2, "  ") == 0;
      columns += gap ? '|' : line[i];
      if (gap) i = line.find_first_not_of(' ', i) - 1;
    }
    return columns;
  }
  return "";
}

TEST(ConfigShow, EverySettingHasALineWithValueAndSource) {
  const std::string text = settings_text(example(), false);
  EXPECT_EQ(line_of(text, "rows-max"), "rows-max|5|windrow.toml:1");
  EXPECT_EQ(line_of(text, "set.seed"), "set.seed|1|windrow.toml:3");
  EXPECT_EQ(line_of(text, "set.temperature"), "set.temperature|0.5|flag --set");
  EXPECT_EQ(line_of(text, "threads"), "threads|one per core|default");
  EXPECT_EQ(line_of(text, "kv-type"), "kv-type|\"f16\"|default");
  for (const SettingRow& row : setting_rows()) {
    EXPECT_NE(("\n" + text).find("\n" + std::string(row.name)), std::string::npos) << row.name;
  }
}

TEST(ConfigShow, JsonIsByName) {
  const boost::json::object json = settings_json(example(), false);
  EXPECT_EQ(json.size(), setting_rows().size());
  EXPECT_EQ(json.at("rows-max"), boost::json::parse(R"({"value":5,"source":"windrow.toml:1"})"));
  EXPECT_EQ(json.at("set"),
            boost::json::parse(R"({"value":{"seed":1,"temperature":0.5},"source":"flag --set",
                                   "sources":{"seed":"windrow.toml:3",
                                              "temperature":"flag --set"}})"));
}

TEST(ConfigShow, ChangedSettingsAreThoseThatDifferFromTheirDefaults) {
  ResolvedSettings settings = example();
  settings.sources["kv-type"] = "windrow.toml:2";  // the default, said once more
  EXPECT_EQ(settings_text(settings, true),
            "set.seed         1    windrow.toml:3\n"
            "set.temperature  0.5  flag --set\n"
            "rows-max         5    windrow.toml:1\n");
  const boost::json::object json = settings_json(settings, true);
  EXPECT_EQ(json.size(), 2U);
  EXPECT_TRUE(json.contains("rows-max") && json.contains("set"));
  EXPECT_EQ(settings_text({}, true), "");
}

}  // namespace
}  // namespace windrow::app
