#include "app/settings/config_file.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "app/settings/settings.h"

namespace windrow::app {
namespace {

std::string message_of(std::string_view text) {
  const Result<ConfigFile> config = parse_config("windrow.toml", text, "");
  return config ? "accepted" : config.error().message;
}

TEST(ConfigFile, EntriesKnowTheirLines) {
  const Result<ConfigFile> config = parse_config("windrow.toml",
                                                 "# defaults of this folder\n"
                                                 "rows-max = 16\n"
                                                 "model = \"m.gguf\"\n"
                                                 "\n"
                                                 "[set]\n"
                                                 "temperature = 0.5\n"
                                                 "stop = [\"a\", \"b\"]\n",
                                                 "");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  std::vector<std::string> lines;
  for (const ConfigEntry& entry : config->entries) {
    lines.push_back(entry.place + " " + entry.name + " " + entry.body_field + " " +
                    boost::json::serialize(entry.value));
  }
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "windrow.toml:2 rows-max  16",
                       "windrow.toml:3 model  \"m.gguf\"",
                       "windrow.toml:6 set temperature 5E-1",
                       "windrow.toml:7 set stop [\"a\",\"b\"]",
                   }));
}

TEST(ConfigFile, ServersAreTablesOfTheirOwn) {
  const Result<ConfigFile> config = parse_config("windrow.toml",
                                                 "concurrency = \"8\"\n"
                                                 "[[upstreams]]\n"
                                                 "url = \"http://a:8000/v1\"\n"
                                                 "api-key = \"secret\"\n"
                                                 "concurrency = 16\n"
                                                 "serial = false\n"
                                                 "rpm = 60\n"
                                                 "models = { big = \"llama3:70b\" }\n"
                                                 "[[upstreams]]\n"
                                                 "url = \"https://b\"\n"
                                                 "api-key-env = \"B_KEY\"\n",
                                                 "");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  ASSERT_EQ(config->upstreams.size(), 2U);
  const UpstreamEntry& first = config->upstreams[0];
  EXPECT_EQ(first.url, "http://a:8000/v1");
  EXPECT_EQ(first.api_key, "secret");
  EXPECT_EQ(first.concurrency, "16");
  EXPECT_EQ(first.serial, false);
  EXPECT_EQ(first.requests_per_minute, 60);
  EXPECT_EQ(first.tokens_per_minute, std::nullopt);
  EXPECT_EQ(first.models.at("big"), "llama3:70b");
  EXPECT_EQ(first.place, "windrow.toml:2");
  EXPECT_EQ(config->upstreams[1].api_key_env, "B_KEY");
  EXPECT_EQ(config->entries.size(), 1U);
}

TEST(ConfigFile, ErrorsOfServersNameTheLineAndWhatToDo) {
  EXPECT_EQ(message_of("[[upstreams]]\nurls = \"http://a\""),
            "windrow.toml:1: urls is no key of [[upstreams]]; did you mean url?");
  EXPECT_EQ(message_of("[[upstreams]]\nrpm = 5"),
            "windrow.toml:1: this [[upstreams]] has no url; add url = \"http://host:8000/v1\"");
  EXPECT_EQ(message_of("[upstreams]\nurl = \"http://a\""),
            "windrow.toml:1: upstreams are tables; write [[upstreams]] on a line of its own and "
            "url = \"http://host:8000/v1\" below it");
  EXPECT_EQ(message_of("[[upstreams]]\nurl = \"http://a\"\nrpm = -1"),
            "windrow.toml:1: rpm must be a whole number from 0 up");
  EXPECT_EQ(message_of("[[upstreams]]\nurl = \"http://a\"\nmodels = \"x\""),
            "windrow.toml:1: models must be a table: { \"name of rows\" = \"theirs\" }");
}

TEST(ConfigFile, AnEmptyFileIsFine) {
  EXPECT_EQ(message_of(""), "accepted");
}

TEST(ConfigFile, ErrorsNameTheLineAndWhatToDo) {
  EXPECT_EQ(message_of("\nrows_max = 1"),
            "windrow.toml:2: rows_max is not a setting; did you mean rows-max?");
  EXPECT_EQ(message_of("[engine]\nrows-max = 1"),
            "windrow.toml:1: engine is not a setting; `windrow config show` lists them");
  EXPECT_EQ(message_of("fresh = true"),
            "windrow.toml:1: fresh belongs to one run; give it as the flag --fresh");
  EXPECT_EQ(message_of("set = 1"),
            "windrow.toml:1: set is a table of body fields; write [set] on a line of its own and "
            "temperature = 0 below it");
  EXPECT_EQ(message_of("ctx = 1979-05-27"),
            "windrow.toml:1: ctx is a date or a time, which no setting accepts");
  EXPECT_EQ(message_of("[set]\nuser = [1979-05-27]"),
            "windrow.toml:2: user is a date or a time, which no setting accepts");
  EXPECT_EQ(message_of("ctx = 1\nctx = 2").substr(0, 16), "windrow.toml:2: ");
  EXPECT_TRUE(message_of("ctx = ").ends_with("; fix the line or remove it"));
}

TEST(ConfigFile, WhatIsNoTextIsAnError) {
  EXPECT_NE(message_of(std::string_view("\xff\xfe\0x", 4)), "accepted");
}

TEST(ConfigFile, TheOneThatIsNamedMustBeThere) {
  const ReadText read = [](const std::string& path) -> Result<std::string> {
    if (path == "a/nightly.toml") return std::string("model = \"m.gguf\"\n");
    return Error{ErrorKind::kNotFound, path + " does not exist"};
  };
  const auto files = read_config_file("a/nightly.toml", {}, read);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  ASSERT_EQ(files->size(), 1U);
  EXPECT_EQ(files->front().entries.at(0).place, "a/nightly.toml:1");
  EXPECT_EQ(files->front().entries.at(0).value, "a/m.gguf");
  EXPECT_EQ(read_config_file("windrow.toml", {}, read).error().message,
            "--config windrow.toml: there is no such file; name one with settings such as rows-max "
            "= 32 on lines of their own");
}

}  // namespace
}  // namespace windrow::app
