#include "app/settings/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace windrow::app {
namespace {

TEST(Settings, NamesAreDifferentAndWritable) {
  std::set<std::string_view> names;
  for (const SettingRow& row : setting_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.help.ends_with('.')) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
    EXPECT_EQ(is_flag(row), row.value_name.empty()) << row.name;
    const bool on_by_default =
        is_flag(row) && value_of(Settings{}, row) == boost::json::value(true);
    EXPECT_EQ(on_by_default, !row.help_off.empty()) << row.name;
    EXPECT_EQ(find_setting(row.name), &row);
  }
  EXPECT_EQ(find_setting("nothing"), nullptr);
}

TEST(Settings, EveryFieldHasItsOwnRow) {
  for (const SettingRow& row : setting_rows()) {
    const auto same = std::ranges::count_if(
        setting_rows(), [&](const SettingRow& other) { return other.field == row.field; });
    EXPECT_EQ(same, 1) << row.name;
  }
}

TEST(Settings, DefaultsAreWithinTheirOwnLimits) {
  for (const SettingRow& row : setting_rows()) {
    const boost::json::value value = value_of(Settings{}, row);
    if (const int64_t* number = value.if_int64()) {
      // A stand-in may lie below what can be written: "all rows" is no number of rows.
      if (row.default_words.empty()) {
        EXPECT_GE(*number, row.value_min) << row.name;
      }
      EXPECT_LE(*number, row.value_max) << row.name;
    }
    if (const boost::json::string* text = value.if_string();
        text != nullptr && !row.choices.empty()) {
      EXPECT_NE(std::ranges::find(row.choices, std::string_view(*text)), row.choices.end());
    }
  }
}

TEST(Settings, VariablesAreNamedAfterTheSetting) {
  EXPECT_EQ(variable_of(*find_setting("rows-max")), "WINDROW_ROWS_MAX");
  EXPECT_EQ(variable_of(*find_setting("fresh")), "");
}

TEST(Settings, AServerTakesShorterStepsUnlessItIsTold) {
  EXPECT_EQ(step_target_ms(SettingsOf::kRun, {}), 2000);
  EXPECT_EQ(step_target_ms(SettingsOf::kServe, {}), 200);
  EXPECT_EQ(step_target_ms(SettingsOf::kServe, {.step_ms = 70}), 70);
}

TEST(Settings, WhatAltersAnswersIsMarked) {
  std::vector<std::string_view> marked;
  for (const SettingRow& row : setting_rows()) {
    if (row.alters_answers) marked.push_back(row.name);
  }
  EXPECT_EQ(marked, (std::vector<std::string_view>{
                        "model", "ctx", "kv-type", "kv-cache", "chat-template", "lora", "pooling",
                        "model-alias", "program-contexts", "program-branches", "program-model",
                        "program-embed-model", "set", "max-tokens-default", "call-reasoning",
                        "keep-truncated"}));
}

}  // namespace
}  // namespace windrow::app
