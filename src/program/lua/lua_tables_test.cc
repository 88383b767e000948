#include "program/lua/lua_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/manual_clock.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// The first result of a source text as text, or its error as "error: ...".
std::string run_with_tables(const std::string& source) {
  const testing::ManualClock clock;
  LuaState lua({}, clock, nullptr);
  lua_State* const state = lua.main();
  const Result<void> loaded = lua.load(state, source, "t");
  if (!loaded) return loaded.error().message;
  const int status = lua_pcall(state, 0, 1, 0);
  const char* text = luaL_tolstring(state, -1, nullptr);
  return status == LUA_OK ? text : std::string("error: ") + text;
}

TEST(LuaTables, FunctionsDoWhatLuasDo) {
  const std::string list = "local t = {3, 1, 2} ";
  const std::string text = " return table.concat(t, ',')";
  EXPECT_EQ(run_with_tables(list + "table.insert(t, 9)" + text), "3,1,2,9");
  EXPECT_EQ(run_with_tables(list + "table.insert(t, 1, 9)" + text), "9,3,1,2");
  EXPECT_EQ(run_with_tables(list + "table.insert(t, 4, 9)" + text), "3,1,2,9");
  EXPECT_EQ(run_with_tables(list + "table.remove(t)" + text), "3,1");
  EXPECT_EQ(run_with_tables(list + "table.remove(t, 1)" + text), "1,2");
  EXPECT_EQ(run_with_tables(list + "table.remove(t, 4)" + text), "3,1,2");
  EXPECT_EQ(run_with_tables(list + "table.sort(t)" + text), "1,2,3");
  EXPECT_EQ(run_with_tables(list + "table.sort(t, function(a, b) return a > b end)" + text),
            "3,2,1");
  EXPECT_EQ(run_with_tables(list + "table.move(t, 1, 3, 2)" + text), "3,3,1,2");
  EXPECT_EQ(run_with_tables(list + "t = table.move(t, 2, 3, 1, {})" + text), "1,2");
  EXPECT_EQ(run_with_tables(list + "return table.concat(t, ',', 2, 3)"), "1,2");
  EXPECT_EQ(run_with_tables(list + "return table.concat(t)"), "312");
  EXPECT_EQ(run_with_tables(list + "return select('#', table.unpack(t))"), "3");
  EXPECT_EQ(run_with_tables(list + "return table.unpack(t, 2)"), "1");
  EXPECT_EQ(run_with_tables(list + "return table.unpack(t, 3, 3)"), "2");
  EXPECT_EQ(run_with_tables(list + "return select('#', table.unpack(t, 2, 1))"), "0");
  EXPECT_EQ(run_with_tables("return table.pack(1, nil, 3).n"), "3");
}

TEST(LuaTables, ErrorsAreLuasOwn) {
  EXPECT_EQ(run_with_tables("table.insert({}, 5, 1)"),
            "error: t:1: bad argument #2 to 'insert' (position out of bounds)");
  EXPECT_EQ(run_with_tables("table.insert({})"),
            "error: t:1: wrong number of arguments to 'insert'");
  EXPECT_EQ(run_with_tables("table.insert(1, 1)"),
            "error: t:1: bad argument #1 to 'insert' (table expected, got number)");
  EXPECT_EQ(run_with_tables("table.sort({1, 'x'})"),
            "error: attempt to compare string with number");
  EXPECT_EQ(run_with_tables("table.concat({{}})"),
            "error: t:1: invalid value (table) at index 1 in table for 'concat'");
}

TEST(LuaTables, RangesAboveTheLimitAreRefused) {
  EXPECT_EQ(run_with_tables("table.move({}, 1, 1 << 53, 2)"),
            "error: t:1: table.move: a range of 9007199254740992 is above the limit of 1048576");
  EXPECT_EQ(run_with_tables("table.move({}, 1, (1 << 20) + 1, 2)"),
            "error: t:1: table.move: a range of 1048577 is above the limit of 1048576");
  EXPECT_EQ(run_with_tables("table.move({}, math.mininteger, math.maxinteger, 1)"),
            "error: t:1: table.move: a range of 2^64 is above the limit of 1048576");
  EXPECT_EQ(run_with_tables("table.concat({}, '', 1, 1 << 40)"),
            "error: t:1: table.concat: a range of 1099511627776 is above the limit of 1048576");
  EXPECT_EQ(run_with_tables("table.unpack({}, -1 << 40, 0)"),
            "error: t:1: table.unpack: a range of 1099511627777 is above the limit of 8000");
  EXPECT_EQ(run_with_tables("table.unpack({}, 1, 8001)"),
            "error: t:1: table.unpack: a range of 8001 is above the limit of 8000");
}

TEST(LuaTables, LengthsThatTablesReportAreNotBelieved) {
  const std::string long_table =
      "local n = 0 local t = setmetatable({}, {__len = function() n = n + 1 return 1 << 60 end, "
      "__index = function() return 'x' end}) ";
  EXPECT_EQ(run_with_tables(long_table + "table.concat(t)"),
            "error: t:1: table.concat: a range of 1152921504606846976 is above the limit of "
            "1048576");
  EXPECT_EQ(run_with_tables(long_table + "table.unpack(t)"),
            "error: t:1: table.unpack: a range of 1152921504606846976 is above the limit of "
            "8000");
  for (const char* call :
       {"insert(t, 1)", "insert(t, 1, 1)", "remove(t)", "remove(t, 1)", "sort(t)"}) {
    EXPECT_TRUE(run_with_tables(long_table + "table." + call)
                    .ends_with("a table whose metatable has __len is not taken"))
        << call;
  }
  // A length that is small when it is checked and large when it is used.
  EXPECT_EQ(run_with_tables("local n = 0 local t = setmetatable({}, {__len = function() n = n + 1 "
                            "return n == 1 and 2 or 1 << 60 end, __index = function() return 'x' "
                            "end}) return table.concat(t)"),
            "xx");
}

// A program cannot keep the thread busy with few instructions.
TEST(LuaTables, WorkIsChargedAsInstructions) {
  for (const char* call : {"table.insert(t, 1, 1) table.remove(t, 1)", "table.move(t, 1, #t, 2)",
                           "table.sort(t)", "table.concat(t)", "table.unpack(t, 1, 8000)"}) {
    const testing::ManualClock clock;
    LuaState lua({}, clock, nullptr);
    lua_State* const coroutine = lua_newthread(lua.main());
    ASSERT_TRUE(lua.load(coroutine,
                         "local t = {} for i = 1, 100000 do t[i] = i end for i = 1, 1000 do " +
                             std::string(call) + " end",
                         "t"));
    int results = 0;
    LuaOutcome outcome = LuaOutcome::kSliced;
    while (outcome == LuaOutcome::kSliced)
      outcome = lua.resume(coroutine, 0, &results);
    EXPECT_EQ(outcome, LuaOutcome::kFailed);
    EXPECT_EQ(lua.forbidden_code(), kInstructionLimit) << call;
  }
}

}  // namespace
}  // namespace windrow::program
