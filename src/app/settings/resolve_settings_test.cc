#include "app/settings/resolve_settings.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "app/settings/settings.h"

namespace windrow::app {
namespace {

// Every place that can hold a setting, as one row of a table of cases.
struct Places {
  std::vector<std::pair<std::string, std::string>> flags;  // name, value
  Environment variables;
  std::string working_folder;  // windrow.toml
  std::string home;            // ~/.config/windrow/config.toml
};

Result<ResolvedSettings> resolve(const Places& places) {
  std::vector<GivenFlag> flags;
  for (const auto& [name, value] : places.flags) {
    flags.push_back(GivenFlag{.row = find_setting(name), .written = "--" + name, .text = value});
  }
  const auto read = [&](const std::string& path) -> Result<std::string> {
    const std::string& text = path == "windrow.toml" ? places.working_folder : places.home;
    if (text.empty()) return Error{ErrorKind::kNotFound, path + " does not exist"};
    return text;
  };
  Environment environment = places.variables;
  environment.emplace("HOME", "/home/ada");
  const Result<std::vector<ConfigFile>> files = read_config_files(environment, read);
  if (!files) return files.error();
  return resolve_settings(flags, environment, *files);
}

struct Case {
  const char* name;
  Places places;
  std::string setting;
  std::string value;  // as JSON
  std::string source;
};

class Precedence : public ::testing::TestWithParam<Case> {};

TEST_P(Precedence, TheStrongestPlaceCounts) {
  const Result<ResolvedSettings> resolved = resolve(GetParam().places);
  ASSERT_TRUE(resolved.has_value()) << resolved.error().message;
  const SettingRow& row = *find_setting(GetParam().setting);
  EXPECT_EQ(boost::json::serialize(value_of(resolved->values, row)), GetParam().value);
  EXPECT_EQ(resolved->source_of(row), GetParam().source);
}

const std::string kHomeFile = "/home/ada/.config/windrow/config.toml";

INSTANTIATE_TEST_SUITE_P(
    Settings, Precedence,
    ::testing::Values(
        Case{"default", {}, "rows-max", "32", "default"},
        Case{"home_file", {.home = "\nrows-max = 8"}, "rows-max", "8", kHomeFile + ":2"},
        Case{"working_folder_over_home",
             {.working_folder = "rows-max = 9", .home = "rows-max = 8"},
             "rows-max",
             "9",
             "windrow.toml:1"},
        Case{"home_where_the_folder_is_silent",
             {.working_folder = "ctx = 512", .home = "rows-max = 8"},
             "rows-max",
             "8",
             kHomeFile + ":1"},
        Case{"variable_over_files",
             {.variables = {{"WINDROW_ROWS_MAX", "10"}}, .working_folder = "rows-max = 9"},
             "rows-max",
             "10",
             "WINDROW_ROWS_MAX"},
        Case{"flag_over_all",
             {.flags = {{"rows-max", "11"}},
              .variables = {{"WINDROW_ROWS_MAX", "10"}},
              .working_folder = "rows-max = 9",
              .home = "rows-max = 8"},
             "rows-max",
             "11",
             "flag --rows-max"},
        Case{"flag_turns_off_what_a_file_turned_on",
             {.flags = {{"ordered", "false"}}, .working_folder = "ordered = true"},
             "ordered",
             "false",
             "flag --ordered"},
        Case{"variable_says_on",
             {.variables = {{"WINDROW_STRICT", "on"}}},
             "strict",
             "true",
             "WINDROW_STRICT"},
        Case{"variable_says_0",
             {.variables = {{"WINDROW_SUMMARY", "0"}}},
             "summary",
             "false",
             "WINDROW_SUMMARY"},
        Case{"models_are_replaced_not_added",
             {.flags = {{"model", "b=b.gguf"}, {"model", "c=c.gguf"}},
              .working_folder = "model = \"a.gguf\""},
             "model",
             R"(["b=b.gguf","c=c.gguf"])",
             "flag --model"},
        Case{"models_of_a_variable_one_a_line",
             {.variables = {{"WINDROW_MODEL", "a=a.gguf\nb=b.gguf\n"}}},
             "model",
             R"(["a=a.gguf","b=b.gguf"])",
             "WINDROW_MODEL"},
        Case{"models_of_a_file_are_beside_it",
             {.home = R"(model = ["a=models/a.gguf", "b=/m/b.gguf", "c=~/c.gguf"])"},
             "model",
             R"(["a=/home/ada/.config/windrow/models/a.gguf","b=/m/b.gguf","c=/home/ada/c.gguf"])",
             kHomeFile + ":1"},
        Case{"body_defaults_add_up",
             {.flags = {{"set", "top_p=0.5"}},
              .variables = {{"WINDROW_SET", "seed=7\nstop=[\"x\"]"}},
              .working_folder = "[set]\ntemperature = 0\nseed = 1"},
             "set",
             R"({"seed":7,"stop":["x"],"temperature":0,"top_p":5E-1})",
             "flag --set"},
        Case{"body_default_that_is_no_json_is_text",
             {.flags = {{"set", "user=ada lovelace"}}},
             "set",
             R"({"user":"ada lovelace"})",
             "flag --set"},
        Case{"no_color",
             {.variables = {{"NO_COLOR", "1"}}, .home = "color = \"always\""},
             "color",
             "\"never\"",
             "NO_COLOR"},
        Case{"empty_no_color_means_nothing",
             {.variables = {{"NO_COLOR", ""}}},
             "color",
             "\"auto\"",
             "default"},
        Case{"own_variable_over_no_color",
             {.variables = {{"NO_COLOR", "1"}, {"WINDROW_COLOR", "always"}}},
             "color",
             "\"always\"",
             "WINDROW_COLOR"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(ResolveSettings, BodyDefaultsKnowWhereEachCameFrom) {
  const Result<ResolvedSettings> resolved =
      resolve({.flags = {{"set", "top_p=0.5"}}, .working_folder = "[set]\ntemperature = 0"});
  ASSERT_TRUE(resolved.has_value()) << resolved.error().message;
  EXPECT_EQ(resolved->body_default_sources.at("top_p"), "flag --set");
  EXPECT_EQ(resolved->body_default_sources.at("temperature"), "windrow.toml:2");
}

TEST(ResolveSettings, FilesComeFromXdgConfigHomeWhenItIsSet) {
  std::vector<std::string> asked;
  const auto read = [&](const std::string& path) -> Result<std::string> {
    asked.push_back(path);
    return Error{ErrorKind::kNotFound, "none"};
  };
  ASSERT_TRUE(read_config_files({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}}, read).has_value());
  ASSERT_TRUE(read_config_files({{"HOME", "/h"}}, read).has_value());
  ASSERT_TRUE(read_config_files({}, read).has_value());
  EXPECT_EQ(asked,
            (std::vector<std::string>{"windrow.toml", "/x/windrow/config.toml", "windrow.toml",
                                      "/h/.config/windrow/config.toml", "windrow.toml"}));
}

TEST(ResolveSettings, AFileThatCannotBeReadIsNotSkipped) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    return Error{ErrorKind::kIo, path + ": permission denied"};
  };
  const auto files = read_config_files({}, read);
  ASSERT_FALSE(files.has_value());
  EXPECT_EQ(files.error().message, "windrow.toml: permission denied");
}

TEST(ResolveSettings, VariablesThatAreNearlyASettingAreReported) {
  const Result<ResolvedSettings> resolved = resolve({.variables = {{"WINDROW_ROW_MAX", "4"},
                                                                   {"WINDROW_GGML_BACKENDS", "/x"},
                                                                   {"WINDROW_JOBS", "2"},
                                                                   {"ROWS_MAX", "4"}}});
  ASSERT_TRUE(resolved.has_value());
  EXPECT_EQ(resolved->warnings, std::vector<std::string>{
                                    "the variable WINDROW_ROW_MAX is no setting and has no effect; "
                                    "WINDROW_ROWS_MAX is one"});
}

struct Refusal {
  Places places;
  std::string message;
};

TEST(ResolveSettings, WhatASettingDoesNotTakeIsRefusedWithItsPlace) {
  const std::vector<Refusal> refusals = {
      {{.flags = {{"rows-max", "many"}}},
       "--rows-max takes a whole number from 1 to 256, not \"many\""},
      {{.flags = {{"gpu-layers", "most"}}},
       "--gpu-layers takes all or a whole number from 0 to 100000, not \"most\""},
      {{.flags = {{"split-mode", "half"}}},
       "--split-mode takes one of layer, row, none, not \"half\""},
      {{.flags = {{"rows-max", "0"}}}, "--rows-max takes a whole number from 1 to 256, not 0"},
      {{.flags = {{"rows-max", "1.5"}}},
       "--rows-max takes a whole number from 1 to 256, not \"1.5\""},
      {{.flags = {{"limit", "-1"}}},
       "--limit takes a whole number from 1 up, not -1; leave it out for all rows"},
      {{.flags = {{"limit", "0"}}},
       "--limit takes a whole number from 1 up, not 0; leave it out for all rows"},
      {{.flags = {{"limit", "99999999999999999999"}}},
       "--limit takes a whole number from 1 up, not \"99999999999999999999\"; leave it out for all "
       "rows"},
      {{.flags = {{"kv-type", "f64"}}},
       "--kv-type takes one of f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, not \"f64\""},
      {{.flags = {{"set", "temperature"}}},
       "--set takes KEY=VALUE, such as temperature=0, not \"temperature\""},
      {{.flags = {{"model", ""}}}, "--model is empty"},
      {{.variables = {{"WINDROW_STRICT", "maybe"}}},
       "WINDROW_STRICT takes true or false, not \"maybe\""},
      {{.variables = {{"WINDROW_ROWS_MAX", ""}}},
       "WINDROW_ROWS_MAX takes a whole number from 1 to 256, not \"\""},
      {{.working_folder = "ctx = 1\nrows-max = \"16\""},
       "windrow.toml:2: rows-max takes a whole number from 1 to 256, not \"16\""},
      {{.working_folder = "strict = 1"}, "windrow.toml:1: strict takes true or false, not 1"},
      {{.working_folder = "model = [1]"},
       "windrow.toml:1: model takes a text or a list of texts, not [1]"},
      {{.home = "rows_mx = 1"}, kHomeFile + ":1: rows_mx is not a setting; did you mean rows-max?"},
  };
  for (const Refusal& refusal : refusals) {
    const Result<ResolvedSettings> resolved = resolve(refusal.places);
    ASSERT_FALSE(resolved.has_value()) << refusal.message;
    EXPECT_EQ(resolved.error().kind, ErrorKind::kInvalid);
    EXPECT_EQ(resolved.error().message, refusal.message);
  }
}

// --- models here, or servers elsewhere ---

TEST(ModelsOrUpstreams, TheStrongerPlaceCounts) {
  const auto by_flag =
      resolve({.flags = {{"upstream", "http://a"}}, .working_folder = "model = \"m.gguf\""});
  ASSERT_TRUE(by_flag.has_value());
  EXPECT_TRUE(by_flag->values.models.empty());
  EXPECT_EQ(by_flag->values.upstreams, std::vector<std::string>{"http://a"});

  const auto by_file = resolve(
      {.working_folder = "model = \"m.gguf\"", .home = "[[upstreams]]\nurl = \"http://a\""});
  ASSERT_TRUE(by_file.has_value());
  EXPECT_TRUE(by_file->values.upstreams.empty());
  EXPECT_EQ(by_file->values.models.size(), 1U);

  const auto by_variable = resolve(
      {.variables = {{"WINDROW_MODEL", "m.gguf"}}, .working_folder = "upstream = \"http://a\""});
  ASSERT_TRUE(by_variable.has_value());
  EXPECT_TRUE(by_variable->values.upstreams.empty());
}

TEST(ModelsOrUpstreams, BothFromOnePlaceIsRefused) {
  const auto both = resolve({.flags = {{"upstream", "http://a"}, {"model", "m.gguf"}}});
  ASSERT_FALSE(both.has_value());
  EXPECT_EQ(both.error().message,
            "flag --model and flag --upstream: rows are answered by local models or by upstream "
            "servers; leave one of the two out (--set model=NAME is how rows name a model of a "
            "server)");
}

TEST(ModelsOrUpstreams, ServersOfAFileAreMeantUnlessOthersAreNamed) {
  const std::string file = "[[upstreams]]\nurl = \"http://a\"\n[[upstreams]]\nurl = \"http://b\"";
  const auto all = resolve({.working_folder = file});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->values.upstreams, (std::vector<std::string>{"http://a", "http://b"}));
  EXPECT_EQ(all->source_of(*find_setting("upstream")), "windrow.toml:1");
  EXPECT_EQ(all->upstreams.size(), 2U);

  const auto one = resolve({.flags = {{"upstream", "http://b"}}, .working_folder = file});
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->values.upstreams, std::vector<std::string>{"http://b"});
  EXPECT_EQ(one->upstreams.size(), 2U) << "what the file says of it still counts";
}

}  // namespace
}  // namespace windrow::app
