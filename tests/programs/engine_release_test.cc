// Programs on the real engine with a simulated model: branches share passes and prefixes, and when
// instances have ended, in whatever way, no cell of the KV cache is held for them any more, no row
// runs, and no sequence is missing.

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/testing/eventually.h"
#include "fleet/load_tokenizer.h"
#include "fleet/local_job_fleet.h"
#include "fleet/routed_models.h"
#include "program/models/dispatched_program_models.h"
#include "program/run/program_loop.h"
#include "program/trace/pass_log.h"

namespace windrow::program {
namespace {

class QuietEvents final : public fleet::FleetEvents {
 public:
  void note(const std::string& /*text*/) override {}
  void warn(const std::string& /*text*/) override {}
  void packed_call_sent(const std::string& /*upstream*/,
                        const dispatch::SentBatch& /*call*/) override {}
};

class EngineRig {
 public:
  explicit EngineRig(std::string body, std::string model = "sim:instant") {
    const fleet::ModelChoice choice{.path = std::move(model)};
    fleet::LocalFleetOptions options;
    options.engine.rows_max = kRowsMax;
    options.engine.context_tokens = kCells;
    options.on_rows = [this](const llm::StepReport& step, std::span<const llm::RowTrace> rows) {
      passes_.observe(step, rows);
    };
    fleet_ = std::make_unique<fleet::LocalJobFleet>(std::vector{choice}, std::move(options), clock_,
                                                    events_);
    if (const Result<void> opened = fleet_->open({}); !opened)
      ADD_FAILURE() << opened.error().message;
    tokenizer_ = *fleet::load_tokenizer(nullptr, choice, 0);
    routes_ = std::make_unique<fleet::RoutedModels>(*fleet_);
    DispatchedProgramModelsOptions of_models;
    of_models.tokenizer_of = [this](std::string_view) { return tokenizer_; };
    models_ = std::make_unique<DispatchedProgramModels>(*routes_, std::move(of_models));
    loop_ = std::make_unique<ProgramLoop>(
        std::make_shared<const Program>(
            Program{.name = "test.lua", .source = "return function(input)\n" + body + "\nend"}),
        *models_, passes_, nullptr, clock_, ProgramLoopOptions{});
  }

  std::pair<InstanceId, std::future<ProgramEnd>> start(std::string input, uint64_t seed) {
    auto ended = std::make_shared<std::promise<ProgramEnd>>();
    std::future<ProgramEnd> end = ended->get_future();
    ProgramStart what;
    what.input = std::move(input);
    what.seed = seed;
    const InstanceId id = loop_->start(
        std::move(what), [ended](ProgramEnd how) { ended->set_value(std::move(how)); });
    return {id, std::move(end)};
  }

  boost::json::value result(std::string input, uint64_t seed = 1) {
    const ProgramEnd end = start(std::move(input), seed).second.get();
    if (const auto* failure = std::get_if<llm::Failure>(&end.outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return boost::json::parse(std::get<std::string>(end.outcome)).at("result");
  }

  // A hold that was released leaves the engine with its next step; the program asks for one.
  void expect_nothing_held() {
    result(R"({"how": "one call"})");
    windrow::testing::eventually(
        [&] {
          const llm::BackendStats stats = fleet_->stats();
          return stats.cells_held == 0 && stats.rows_running == 0 && stats.rows_waiting == 0 &&
                 stats.cells_used == stats.cells_cached;
        },
        true);
    EXPECT_EQ(loop_->reading().contexts, 0);
    EXPECT_EQ(models_->waiting(), 0U);
  }

  llm::BackendStats stats() const { return fleet_->stats(); }
  void cancel(InstanceId instance) { loop_->cancel(instance); }

 private:
  static constexpr int32_t kRowsMax = 32;
  static constexpr int32_t kCells = 16'384;

  const SystemClock clock_;
  QuietEvents events_;
  PassLog passes_{clock_};
  std::unique_ptr<fleet::LocalJobFleet> fleet_;
  std::shared_ptr<const llm::Tokenizer> tokenizer_;
  std::unique_ptr<fleet::RoutedModels> routes_;
  std::unique_ptr<DispatchedProgramModels> models_;
  std::unique_ptr<ProgramLoop> loop_;  // ends first
};

// Ends in the way that the input says, with contexts of every kind alive.
constexpr std::string_view kProgram = R"(
  local root = Context.new():system("You answer."):user(("word "):rep(200))
  root:generate{max_tokens = 8}
  if input.how == "one call" then return root:text() end
  local results = map({1, 2, 3, 4, 5, 6}, function(i)
    local ctx = root:fork()
    ctx:user("branch " .. i):generate{max_tokens = 8}
    local best = race{
      function() return ctx:fork():user("a"):generate{max_tokens = 4}.text end,
      function() return ctx:fork():user("b"):generate{max_tokens = 40}.text end}
    if input.how == "error" and i == input.where then error("as asked") end
    if input.how == "loop" and i == input.where then while true do end end
    if input.how == "release" then ctx:release() end
    ctx = nil
    return best
  end)
  if input.how == "more" then
    for i = 1, 5 do root:user("go on"):generate{max_tokens = 6} end
  end
  return #results)";

TEST(ProgramsOnTheEngine, NothingIsHeldOnceInstancesHaveEnded) {
  EngineRig rig{std::string(kProgram)};
  Random random(7);
  std::map<std::string, int> ends;
  for (int round = 0; round < 6; ++round) {
    std::vector<std::pair<InstanceId, std::future<ProgramEnd>>> running;
    for (uint64_t i = 0; i < 8; ++i) {
      constexpr std::string_view kWays[] = {"return", "error", "loop", "release", "more"};
      const std::string_view how = kWays[random.below(std::size(kWays))];
      running.push_back(rig.start("{\"how\": \"" + std::string(how) +
                                      "\", \"where\": " + std::to_string(1 + random.below(6)) + "}",
                                  i + 1));
    }
    // Some are cancelled, wherever they are.
    for (auto& [id, end] : running) {
      if (random.chance(0.3)) rig.cancel(id);
    }
    for (auto& [id, end] : running) {
      const ProgramEnd ended = end.get();
      const auto* failure = std::get_if<llm::Failure>(&ended.outcome);
      ++ends[failure == nullptr ? "returned" : failure->code];
    }
    rig.expect_nothing_held();
  }
  // Every way to end was taken.
  for (const char* end : {"returned", "cancelled", "program_error", "program_instruction_limit"})
    EXPECT_GT(ends[end], 0) << end;
}

TEST(ProgramsOnTheEngine, BranchesShareTheirPrefix) {
  EngineRig rig(R"(
    local root = Context.new():user(("word "):rep(500))
    if not input then return root:generate{max_tokens = 1}.text end
    local prompt = #root:fork():cue()
    map(root:fork(16), function(ctx) ctx:generate{max_tokens = 32, temperature = 0.7} end)
    local used = usage()
    return {prompt, used.prompt_tokens, used.cached_tokens, used.passes, used.completion_tokens})");
  // Until the first call there is no cache to hold anything in.
  rig.result("false");
  const boost::json::value result = rig.result("true");
  const int64_t prompt = result.at(0).as_int64();
  EXPECT_EQ(result.at(1).as_int64(), 16 * prompt);
  // The prompt once, and of each further branch its last token, for logits of its own. However late
  // a branch comes, the context is held; one that comes when no other runs computes its cue.
  constexpr int64_t kCueTokens = 3;
  EXPECT_LE(result.at(1).as_int64() - result.at(2).as_int64(), prompt + 15 * kCueTokens);
  EXPECT_GT(result.at(3).as_int64(), 31);
  EXPECT_LE(result.at(3).as_int64(), result.at(4).as_int64() + 16);
}

TEST(ProgramsOnTheEngine, AnAnswerIsReadAsTheEngineReadsIt) {
  EngineRig rig(R"(
    local ctx = Context.new():user("question")
    local first = ctx:generate{max_tokens = 12, temperature = 0, choice = {"north", "south"}}
    local text, index, scores = ctx:user("again"):select({"east", "west"})
    local all_scores = ctx:fork():user("and"):score({"one", "two"})
    return {first.text, text, index, scores[index].mean >= scores[3 - index].mean,
            all_scores[1].logprob < 0, #ctx:messages()})");
  const boost::json::value result = rig.result("");
  EXPECT_TRUE(result.at(0) == "north" || result.at(0) == "south") << result;
  EXPECT_TRUE(result.at(1) == "east" || result.at(1) == "west") << result;
  EXPECT_EQ(result.at(3), true);
  EXPECT_EQ(result.at(4), true);
  EXPECT_EQ(result.at(5), 4);
}

TEST(ProgramsOnTheEngine, TheSameSeedGivesTheSameResultBesideOthers) {
  constexpr std::string_view kSampling = R"(
    return map({1, 2, 3, 4}, function(i)
      return Context.new():user("say " .. i):generate{max_tokens = 12, temperature = 1}.text
    end))";
  boost::json::value alone;
  {
    EngineRig rig{std::string(kSampling)};
    alone = rig.result("", 5);
  }
  EngineRig rig{std::string(kSampling)};
  std::vector<std::pair<InstanceId, std::future<ProgramEnd>>> others;
  for (uint64_t seed = 10; seed < 20; ++seed)
    others.push_back(rig.start("", seed));
  EXPECT_EQ(rig.result("", 5), alone);
  for (auto& [id, end] : others)
    EXPECT_TRUE(std::holds_alternative<std::string>(end.get().outcome));
}

}  // namespace
}  // namespace windrow::program
