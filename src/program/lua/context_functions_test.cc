// What the methods of contexts take of a slice; run/ has the tests of what they do.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "program/lua/lua_program.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// Each look at it is a slice later.
class SlowClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += kSliceTime; }
  int64_t unix_seconds() const override { return 0; }

 private:
  mutable TimePoint now_;
};

// One context, of a server elsewhere.
class OneContext final : public ProgramHost {
 public:
  std::variant<ContextId, llm::Failure> new_context(TaskId, std::string_view,
                                                    ContextOptions) override {
    return ContextId(1);
  }
  std::variant<std::vector<ContextId>, llm::Failure> fork(TaskId, ContextId, size_t) override {
    return std::vector{ContextId(1)};
  }
  HeldContext* find(ContextId) override { return &held_; }
  std::optional<std::string> memory_fault() const override { return std::nullopt; }
  void release(ContextId) override {}
  std::optional<llm::Failure> begin_generate(TaskId, ContextId, GenerateOptions,
                                             std::optional<uint64_t>) override {
    return std::nullopt;
  }
  std::optional<llm::Failure> begin_score(TaskId, ContextId, std::vector<std::string>) override {
    return std::nullopt;
  }
  std::optional<llm::Failure> begin_select(TaskId, ContextId, std::vector<std::string>) override {
    return std::nullopt;
  }
  std::optional<llm::Failure> begin_embed(TaskId, std::string_view, std::vector<std::string>,
                                          bool) override {
    return std::nullopt;
  }
  std::optional<llm::Failure> begin_group(TaskId, uint32_t, GroupKind, size_t, size_t) override {
    return std::nullopt;
  }
  size_t branches_max() const override { return 1; }
  uint64_t random(TaskId) override { return 0; }
  void set_stage(TaskId, std::string_view) override {}
  ProgramUsage usage() const override { return {}; }
  void log(std::string_view) override {}

 private:
  HeldContext held_{.context = Context(std::make_shared<const ContextModel>()),
                    .seeds = SeedPath(1)};
};

TEST(ContextFunctions, AMethodThatTookLongEndsItsSlice) {
  const SlowClock clock;
  OneContext host;
  LuaProgram program({}, clock, host);
  ASSERT_TRUE(program.load(R"(
    return function()
      local ctx = Context.new()
      for i = 1, 10 do ctx:user("q") end
    end)",
                           "test.lua"));
  program.begin_main({});
  int slices = 0;
  StepEnd end = StepEnd::kSliced;
  while ((end = program.step(TaskId(1))) == StepEnd::kSliced)
    ++slices;
  EXPECT_EQ(end, StepEnd::kReturned);
  EXPECT_EQ(slices, 10);
}

}  // namespace
}  // namespace windrow::program
