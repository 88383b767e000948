#include "app/commands/probe_options.h"

#include <gtest/gtest.h>

#include <string>

#include "app/commands/command_line.h"

namespace windrow::app {
namespace {

Result<Command> parse(const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"probe"};
  words.insert(words.end(), flags.begin(), flags.end());
  return parse_command_line(words);
}

ProbeCommand accepted(const std::vector<std::string>& flags) {
  const Result<Command> command = parse(flags);
  EXPECT_TRUE(command.has_value()) << command.error().message;
  return command ? std::get<ProbeCommand>(*command) : ProbeCommand{};
}

std::string refused(const std::vector<std::string>& flags) {
  const Result<Command> command = parse(flags);
  return command ? "accepted" : command.error().message;
}

TEST(ProbeOptions, FlagsSetWhatTheyName) {
  const ProbeCommand command =
      accepted({"--upstream", "http://h:1/v1", "--model", "m", "--in-flight", "1,8,3",
                "--requests-each=5", "--max-tokens", "0", "--api-key-env", "KEY", "--json"});
  EXPECT_EQ(command.upstream, "http://h:1/v1");
  EXPECT_EQ(command.model, "m");
  EXPECT_EQ(command.in_flight, (std::vector<int32_t>{1, 8, 3}));
  EXPECT_EQ(command.requests_each, 5);
  EXPECT_EQ(command.output_tokens, 0);
  EXPECT_EQ(command.api_key_env, "KEY");
  EXPECT_TRUE(command.json);
}

TEST(ProbeOptions, TimeAndCountReplaceEachOther) {
  const std::string url = "--upstream=http://h";
  EXPECT_EQ(accepted({url}).seconds_each, 8);
  EXPECT_EQ(accepted({url, "--requests-each", "9"}).seconds_each, 0);
  EXPECT_EQ(accepted({url, "--seconds-each", "3"}).requests_each, 0);
}

TEST(ProbeOptions, MistakesAreExplained) {
  EXPECT_EQ(refused({}),
            "no upstream was named; write windrow probe --upstream http://host:8000/v1");
  const std::string url = "--upstream=http://h";
  EXPECT_EQ(refused({url, "--in-flight", "1,x"}),
            "--in-flight: \"x\" is not a whole number from 1 to 512");
  EXPECT_EQ(refused({url, "--in-flight", "4,"}),
            "--in-flight: \"\" is not a whole number from 1 to 512");
  EXPECT_EQ(refused({url, "--prompt", "a", "--input", "b"}),
            "--prompt and --input each say what is sent; take one of them");
  EXPECT_EQ(refused({url, "--inflight", "4"}),
            "--inflight is not a flag of windrow probe; did you mean --in-flight?");
}

}  // namespace
}  // namespace windrow::app
