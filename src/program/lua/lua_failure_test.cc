#include "program/lua/lua_failure.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "base/testing/manual_clock.h"
#include "program/limits.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

int run_out(lua_State*) {
  throw std::bad_alloc();
}

int break_down(lua_State*) {
  throw std::runtime_error("the index is broken");
}

class LuaFailureTest : public ::testing::Test {
 protected:
  LuaFailureTest() : lua_({}, clock_, nullptr) {
    lua_register(lua_.main(), "run_out", guarded<run_out>);
    lua_register(lua_.main(), "break_down", guarded<break_down>);
    open_failures(lua_.main());
  }

  // The error that a source text ends with.
  std::string error_of(const std::string& source) {
    lua_State* const coroutine = lua_newthread(lua_.main());
    EXPECT_TRUE(lua_.load(coroutine, source, "t"));
    int results = 0;
    EXPECT_EQ(lua_.resume(coroutine, 0, &results), LuaOutcome::kFailed);
    return failure_of(coroutine, -1).message;
  }

  const testing::ManualClock clock_;
  LuaState lua_;
};

TEST_F(LuaFailureTest, MemoryThatRunsOutInAFunctionIsTheMemoryLimit) {
  EXPECT_EQ(error_of("local x = run_out()"),
            "memory limit of 64 MiB exceeded; keep less at a time, or raise --program-memory-mb");
  EXPECT_EQ(lua_.forbidden_code(), kMemoryLimit);
}

TEST_F(LuaFailureTest, OtherExceptionsAreErrorsWithTheirText) {
  EXPECT_EQ(error_of("local x = break_down()"), "t:1: internal error: the index is broken");
  EXPECT_FALSE(lua_.is_forbidden());
}

TEST_F(LuaFailureTest, AFailureWhoseMessageIsATableShowsNoAddress) {
  push_failure(lua_.main(), {.failure_class = llm::FailureClass::kRequest,
                             .status = 422,
                             .code = "code",
                             .message = "first",
                             .param = {}});
  lua_setglobal(lua_.main(), "failure");
  EXPECT_EQ(error_of("error(tostring(failure), 0)"), "first");
  EXPECT_EQ(error_of("failure.message = {} error(tostring(failure), 0)"), "table");
}

}  // namespace
}  // namespace windrow::program
