#include "app/commands/sim_upstream_options.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "app/commands/command_line.h"

namespace windrow::app {
namespace {

Result<Command> parse(const std::vector<std::string>& flags) {
  std::vector<std::string> words = {"sim-upstream"};
  words.insert(words.end(), flags.begin(), flags.end());
  return parse_command_line(words);
}

SimUpstreamCommand accepted(const std::vector<std::string>& flags) {
  const Result<Command> command = parse(flags);
  EXPECT_TRUE(command.has_value()) << command.error().message;
  return command ? std::get<SimUpstreamCommand>(*command) : SimUpstreamCommand{};
}

std::string refused(const std::vector<std::string>& flags) {
  const Result<Command> command = parse(flags);
  return command ? "accepted" : command.error().message;
}

TEST(SimUpstreamOptions, FlagsSetWhatTheyName) {
  const SimUpstreamCommand command =
      accepted({"--port",      "0",       "--slots=16", "--knee",  "8",       "--token-ms",
                "0.5",         "--model", "a",          "--model", "b",       "--answer",
                "echo",        "--fault", "429=0.1:2s", "--fault", "stall=1", "--limit-headers",
                "x-ratelimit", "--stats", "--seed",     "7",       "--rpm",   "60"});
  EXPECT_EQ(command.server.port, 0);
  EXPECT_TRUE(command.stats);
  const sim_upstream::SimOptions& sim = command.server.sim;
  EXPECT_EQ(sim.slots, 16);
  EXPECT_EQ(sim.knee, 8);
  EXPECT_EQ(sim.token_time, Duration(std::chrono::microseconds(500)));
  EXPECT_EQ(sim.models, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(sim.answer, sim_upstream::AnswerKind::kEcho);
  EXPECT_EQ(sim.faults.size(), 2U);
  EXPECT_EQ(sim.limit_headers, sim_upstream::LimitHeaders::kRateLimit);
  EXPECT_EQ(sim.seed, 7U);
  EXPECT_EQ(sim.requests_per_minute, 60);
  EXPECT_EQ(accepted({"--slots", "8", "--serial"}).server.sim.slots, 1);
  EXPECT_EQ(accepted({}).server.port, 8000);
  EXPECT_TRUE(accepted({"--instant"}).server.instant);
  for (const std::string form : {"127.0.0.1:18703", ":18703", "18703"}) {
    const SimUpstreamCommand listening = accepted({"--listen", form});
    EXPECT_EQ(listening.server.address, "127.0.0.1") << form;
    EXPECT_EQ(listening.server.port, 18703) << form;
  }
  EXPECT_EQ(accepted({"--listen", "[::1]:80"}).server.address, "::1");
}

TEST(SimUpstreamOptions, TokensAndTheirRowsAreSet) {
  const sim_upstream::TokenOptions tokens =
      accepted({"--token-ids", "5-90", "--end-token=3", "--weight-version", "7",
                "--incremental-streaming", "--routing-layers", "58", "--routing-topk", "4",
                "--routing-experts", "32", "--routing-drift", "--routing-twice", "--indexer-layers",
                "2", "--indexer-topk", "64"})
          .server.sim.tokens;
  EXPECT_EQ(tokens.first_id, 5);
  EXPECT_EQ(tokens.last_id, 90);
  EXPECT_EQ(tokens.end_id, 3);
  EXPECT_EQ(tokens.weight_version, "7");
  EXPECT_TRUE(tokens.incremental);
  EXPECT_EQ(tokens.routing_layers, 58);
  EXPECT_EQ(tokens.routing_topk, 4);
  EXPECT_EQ(tokens.routing_experts, 32);
  EXPECT_TRUE(tokens.routing_drift);
  EXPECT_TRUE(tokens.routing_twice);
  EXPECT_EQ(tokens.indexer_layers, 2);
  EXPECT_EQ(tokens.indexer_topk, 64);

  EXPECT_EQ(refused({"--token-ids", "5"}),
            "--token-ids: \"5\" is not two token ids, as 1000-29999");
  EXPECT_NE(refused({"--token-ids", "9-5"}), "accepted");
  EXPECT_EQ(refused({"--routing-topk", "300"}),
            "--routing-topk 300 is more than --routing-experts 256: a layer has only so many to "
            "choose from");
  EXPECT_EQ(refused({"--indexer-layers", "1024", "--indexer-topk", "1024"}),
            "--indexer-layers 1024 and --indexer-topk 1024 make 1048576 numbers for each token; at "
            "most 262144 are possible");
}

TEST(SimUpstreamOptions, MistakesAreExplained) {
  EXPECT_EQ(refused({"--slots", "0"}), "--slots: \"0\" is not a whole number from 1 to 1000000");
  EXPECT_EQ(refused({"--slots", "4x"}), "--slots: \"4x\" is not a whole number from 1 to 1000000");
  EXPECT_EQ(refused({"--answer-spread", "nan"}),
            "--answer-spread: \"nan\" is not a number from 0 to 1");
  EXPECT_EQ(refused({"--answer", "poem"}), "--answer: \"poem\" is not one of text, echo, json");
  EXPECT_EQ(refused({"--solts", "4"}),
            "--solts is not a flag of windrow sim-upstream; did you mean --slots?");
  EXPECT_TRUE(refused({"--listen", "300.1.1.1:5"}).find("is not an IPv4 address") !=
              std::string::npos);
  EXPECT_EQ(refused({"--slots"}), "--slots needs a value after it");
  EXPECT_TRUE(refused({"--fault", "fire=1"}).starts_with("--fault: \"fire=1\" is no fault"));
  EXPECT_TRUE(refused({"--instant", "--fault", "stall=1"}).starts_with("--instant looks at no"));
  EXPECT_TRUE(refused({"--knee", "8"}).starts_with("--knee 8 is more than --slots 4"));
  EXPECT_EQ(refused({"word"}),
            "\"word\" is an argument too many; `windrow sim-upstream --help` shows the usage");
}

TEST(SimUpstreamOptions, TheTableIsWhole) {
  std::set<std::string_view> names;
  for (const Flag<SimUpstreamCommand>& flag : sim_flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_NE(flag.set, nullptr) << flag.name;
    EXPECT_EQ(flag.help.find("(repeatable)") != std::string_view::npos, flag.repeatable)
        << flag.name;
  }
}

}  // namespace
}  // namespace windrow::app
