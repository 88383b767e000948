#include "app/settings/upstream_settings.h"

#include <gtest/gtest.h>

#include <utility>

namespace windrow::app {
namespace {

const Environment kEnvironment = {
    {"KEY", "sk-1\n"}, {"OTHER", "sk-2"}, {"EMPTY", ""}, {"SPACED", "sk 1"}};

ResolvedSettings settings_of(std::vector<std::string> upstreams) {
  ResolvedSettings settings;
  settings.values.upstreams = std::move(upstreams);
  return settings;
}

std::string message_of(const ResolvedSettings& settings) {
  const auto choices = upstream_choices(settings, kEnvironment);
  return choices ? "accepted" : choices.error().message;
}

TEST(UpstreamChoice, FlagsAreForAllServers) {
  ResolvedSettings settings = settings_of({"http://a:8000", "https://b/v1"});
  settings.values.api_key_env = "KEY";
  settings.values.concurrency = "16";
  settings.values.model_aliases = {"big=llama3:70b"};
  settings.values.requests_per_minute = 60;
  const auto choices = upstream_choices(settings, kEnvironment);
  ASSERT_TRUE(choices.has_value()) << choices.error().message;
  ASSERT_EQ(choices->size(), 2U);
  EXPECT_EQ(http::to_string((*choices)[0].server.base), "http://a:8000/v1");
  for (const fleet::UpstreamChoice& choice : *choices) {
    EXPECT_EQ(choice.server.api_key, "sk-1") << "without the line end that `cat` leaves";
    EXPECT_EQ(choice.concurrency, 16);
    EXPECT_EQ(choice.server.aliases.at("big"), "llama3:70b");
    EXPECT_EQ(choice.requests_per_minute, 60);
  }
}

TEST(UpstreamChoice, WhatAFileSaysOfOneServerCountsForThatOne) {
  ResolvedSettings settings = settings_of({"http://a", "http://b"});
  settings.values.api_key_env = "KEY";
  settings.values.model_aliases = {"big=one", "small=two"};
  settings.upstreams = {UpstreamEntry{.url = "http://b/v1",
                                      .api_key = {},
                                      .api_key_env = "OTHER",
                                      .concurrency = "auto",
                                      .serial = true,
                                      .requests_per_minute = {},
                                      .tokens_per_minute = 900,
                                      .models = {{"big", "other"}},
                                      .place = "windrow.toml:1"}};
  const auto choices = upstream_choices(settings, kEnvironment);
  ASSERT_TRUE(choices.has_value()) << choices.error().message;
  EXPECT_EQ((*choices)[0].server.api_key, "sk-1");
  EXPECT_EQ((*choices)[0].concurrency, std::nullopt);
  EXPECT_EQ((*choices)[0].server.aliases.at("big"), "one");
  const fleet::UpstreamChoice& other = (*choices)[1];
  EXPECT_EQ(other.server.api_key, "sk-2");
  EXPECT_EQ(other.concurrency, 1) << "serial";
  EXPECT_EQ(other.tokens_per_minute, 900);
  EXPECT_EQ(other.server.aliases.at("big"), "other");
  EXPECT_EQ(other.server.aliases.at("small"), "two");
}

TEST(UpstreamChoice, ErrorsSayWhatToDoAndShowNoKey) {
  ResolvedSettings settings = settings_of({"a:8000"});
  EXPECT_TRUE(message_of(settings).starts_with("--upstream a:8000: "));
  settings = settings_of({"http://a/v1/chat/completions"});
  EXPECT_EQ(message_of(settings),
            "--upstream http://a/v1/chat/completions: this is the URL of one route; write the base "
            "URL, which usually ends with /v1, as in http://host:8000/v1");
  settings = settings_of({"http://a", "http://a/v1"});
  EXPECT_EQ(message_of(settings),
            "--upstream http://a/v1: this server is named twice; once is enough, and --concurrency "
            "says how many requests it gets at a time");
  settings = settings_of({"http://a"});
  settings.values.api_key_env = "sk-abc";
  EXPECT_EQ(message_of(settings),
            "--api-key-env sk-abc: there is no environment variable of this name; export "
            "sk-abc=... first (the flag takes the name, not the key)");
  settings.values.api_key_env = "EMPTY";
  EXPECT_EQ(message_of(settings), "--api-key-env EMPTY is empty; it must hold the server's key");
  settings.values.api_key_env = "SPACED";
  EXPECT_EQ(message_of(settings).find("sk 1"), std::string::npos);
  settings.values.api_key_env = "KEY";
  settings.values.concurrency = "0";
  EXPECT_EQ(message_of(settings),
            "--concurrency: 0 must be auto or a whole number from 1 to 65536");
  settings.values.concurrency = "many";
  EXPECT_EQ(message_of(settings),
            "--concurrency: many must be auto or a whole number from 1 to 65536");
  settings.values.concurrency = "auto";
  settings.values.model_aliases = {"big"};
  EXPECT_EQ(message_of(settings),
            "--model-alias big: write NAME=THEIRS, the model as rows name it and as the server "
            "does");
}

TEST(UpstreamChoice, OneOrSeveralAtATimeButNotBoth) {
  const auto told = [](const std::string& flag, bool serial, UpstreamEntry entry) {
    ResolvedSettings settings = settings_of({"http://a"});
    settings.values.concurrency = flag;
    settings.values.serial = serial;
    entry.url = "http://a";
    entry.place = "windrow.toml:1";
    settings.upstreams = {std::move(entry)};
    const auto choices = upstream_choices(settings, kEnvironment);
    return choices ? "accepted " + std::to_string(choices->front().concurrency.value_or(0))
                   : choices.error().message;
  };
  const auto entry = [](std::string concurrency, std::optional<bool> serial) {
    UpstreamEntry one;
    one.concurrency = std::move(concurrency);
    one.serial = serial;
    return one;
  };
  EXPECT_EQ(told("auto", true, entry("", {})), "accepted 1");
  EXPECT_EQ(told("1", true, entry("", {})), "accepted 1");
  EXPECT_EQ(told("auto", false, entry("1", true)), "accepted 1");
  EXPECT_EQ(told("9", false, entry("", true)), "accepted 1") << "of this server, whatever the rest";
  EXPECT_EQ(told("auto", true, entry("9", false)), "accepted 9");
  EXPECT_EQ(told("9", true, entry("", {})),
            "--concurrency 9 and --serial contradict each other: a serial server gets one request "
            "at a time; take one of them out");
  EXPECT_TRUE(told("auto", false, entry("9", true))
                  .starts_with("windrow.toml:1: concurrency 9 and serial = true contradict"));
  EXPECT_TRUE(told("auto", true, entry("9", {}))
                  .starts_with("windrow.toml:1: concurrency 9 and --serial contradict"));
}

TEST(UpstreamChoice, AKeyComesFromOnePlace) {
  ResolvedSettings settings = settings_of({"http://a"});
  UpstreamEntry entry;
  entry.url = "http://a";
  entry.place = "windrow.toml:1";
  entry.api_key = "sk-file";
  settings.upstreams = {entry};
  const auto choices = upstream_choices(settings, kEnvironment);
  ASSERT_TRUE(choices.has_value());
  EXPECT_EQ(choices->front().server.api_key, "sk-file");
  settings.upstreams.front().api_key_env = "UNSET";
  EXPECT_EQ(message_of(settings),
            "windrow.toml:1: api-key and api-key-env are both there; keep one of them");
}

}  // namespace
}  // namespace windrow::app
