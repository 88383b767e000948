#include "program/lua/lua_sandbox.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/manual_clock.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

class LuaSandboxTest : public ::testing::Test {
 protected:
  LuaSandboxTest() : lua_({}, clock_, nullptr) {}

  // The first result of a source text as text, or its error as "error: ...".
  std::string run(const std::string& source) {
    lua_State* const coroutine = lua_newthread(lua_.main());
    const Result<void> loaded = lua_.load(coroutine, source, "t");
    if (!loaded) return loaded.error().message;
    int results = 0;
    LuaOutcome outcome = LuaOutcome::kSliced;
    while (outcome == LuaOutcome::kSliced)
      outcome = lua_.resume(coroutine, 0, &results);
    const bool is_error = outcome == LuaOutcome::kFailed;
    if (results == 0) return "";
    return (is_error ? "error: " : "") + std::string(luaL_tolstring(coroutine, -results, nullptr));
  }

  // The names in a table, sorted.
  std::string names_of(const std::string& table) {
    return run("local names = {} for name in pairs(" + table +
               ") do names[#names + 1] = name end table.sort(names) "
               "return table.concat(names, ' ')");
  }

  const testing::ManualClock clock_;
  LuaState lua_;
};

TEST_F(LuaSandboxTest, ProgramsHaveTheseNamesAndNoOthers) {
  EXPECT_EQ(names_of("_G"),
            "_G _VERSION assert error getmetatable ipairs math next pairs pcall rawequal rawget "
            "rawlen rawset select setmetatable string table tonumber tostring type utf8 xpcall");
  EXPECT_EQ(names_of("math"),
            "abs acos asin atan ceil cos deg exp floor fmod huge log max maxinteger min mininteger "
            "modf pi rad sin sqrt tan tointeger type ult");
  EXPECT_EQ(names_of("table"), "concat insert move pack remove sort unpack");
  EXPECT_EQ(names_of("utf8"), "char charpattern codepoint codes len offset");
  EXPECT_EQ(run("return string.dump"), "nil");
}

TEST_F(LuaSandboxTest, WhatIsAbsentIsNil) {
  for (const char* name :
       {"io", "os", "package", "debug", "load", "loadstring", "dofile", "loadfile",
        "collectgarbage", "coroutine", "require", "print", "warn", "math.random", "math.randomseed",
        "string.dump", "_ENV.io", "_G.debug"}) {
    EXPECT_EQ(run(std::string("return ") + name), "nil") << name;
  }
}

TEST_F(LuaSandboxTest, FinalizersAreRefused) {
  const char* const refused =
      "error: t:1: setmetatable: __gc is not available to programs; use <close>";
  EXPECT_EQ(run("setmetatable({}, {__gc = function() end})"), refused);
  EXPECT_EQ(run("setmetatable({}, {__gc = false})"), refused);
  EXPECT_EQ(run("setmetatable({}, setmetatable({}, {__index = {__gc = true}})) return 'fine'"),
            "fine");
}

TEST_F(LuaSandboxTest, AFinalizerThatIsAddedLaterIsNotCalled) {
  EXPECT_EQ(run("called = 0 local m = {} for i = 1, 100 do setmetatable({}, m) end "
                "m.__gc = function() called = called + 1 end"),
            "");
  lua_settop(lua_.main(), 0);
  lua_.collect();
  EXPECT_EQ(run("return called"), "0");
}

TEST_F(LuaSandboxTest, WeakTablesAreRefused) {
  const char* const refused =
      "error: t:1: setmetatable: __mode (a weak table) is not available to programs; set entries "
      "to nil when they are not wanted any more";
  EXPECT_EQ(run("setmetatable({}, {__mode = 'k'})"), refused);
  EXPECT_EQ(run("setmetatable({}, {__mode = false})"), refused);
  EXPECT_EQ(run("setmetatable({}, setmetatable({}, {__index = {__mode = 'v'}})) return 'fine'"),
            "fine");
}

TEST_F(LuaSandboxTest, MetatablesWorkOtherwise) {
  EXPECT_EQ(run("return setmetatable({}, {__index = {a = 1}}).a"), "1");
  EXPECT_EQ(run("return getmetatable(setmetatable({}, nil))"), "nil");
  EXPECT_EQ(run("return tostring(setmetatable({}, {__tostring = function() return 'x' end}))"),
            "x");
  EXPECT_EQ(run("setmetatable({}, 1)"),
            "error: t:1: bad argument #2 to 'setmetatable' (nil or table expected, got number)");
  EXPECT_EQ(run("setmetatable(setmetatable({}, {__metatable = 1}), {})"),
            "error: t:1: cannot change a protected metatable");
}

TEST_F(LuaSandboxTest, TheMetatableOfStringsIsNotReachable) {
  EXPECT_EQ(run("return getmetatable('')"), "string");
  EXPECT_EQ(run("return ('x'):rep(3)"), "xxx");
}

TEST_F(LuaSandboxTest, WhatAProgramChangesIsItsOwn) {
  EXPECT_EQ(run("_G.type = nil string.rep = nil _G = {} table.sort = nil math.pi = 3 "
                "return math.pi"),
            "3");
  LuaState other({}, clock_, nullptr);
  lua_State* const state = other.main();
  ASSERT_TRUE(other.load(state, "return type(table.sort) .. type(string.rep) .. #_G", "t"));
  ASSERT_EQ(lua_pcall(state, 0, 1, 0), LUA_OK);
  EXPECT_STREQ(lua_tostring(state, -1), "functionfunction0");
}

TEST_F(LuaSandboxTest, RebindingGlobalsBreaksNoLimit) {
  EXPECT_EQ(
      run("_ENV = {} while true do end"),
      "error: instruction limit of 10000000 exceeded between two calls that wait; do less between "
      "them, or raise --program-instructions");
}

TEST_F(LuaSandboxTest, HandlersOfXpcallGetTheErrorAndSeeItsStack) {
  EXPECT_EQ(run("local ok, text = xpcall(error, function(e) return e .. '!' end, 'x', 0) "
                "return text"),
            "x!");
  EXPECT_EQ(run("return select('#', xpcall(function(...) return ... end, error, 1, nil, 3))"), "4");
  EXPECT_EQ(run("local ok, a = xpcall(function() error({code = 7}) end, function(e) return e.code "
                "end) return a"),
            "7");
  EXPECT_EQ(run("xpcall(error, 1)"),
            "error: t:1: bad argument #2 to 'xpcall' (function expected, got number)");
  EXPECT_EQ(run("return xpcall(error, function() error('again') end)"), "false");
  EXPECT_FALSE(lua_.is_forbidden());
}

TEST_F(LuaSandboxTest, FunctionsThatReadLongStringsAreCharged) {
  for (const char* call :
       {"utf8.len(s)", "utf8.offset(s, -1, 1)", "tonumber(s)", "utf8.codepoint(s, 1)"}) {
    const testing::ManualClock clock;
    LuaState lua({}, clock, nullptr);
    lua_State* const coroutine = lua_newthread(lua.main());
    ASSERT_TRUE(lua.load(coroutine,
                         "local s = ('0'):rep(1 << 20) for i = 1, 10000 do pcall(function() " +
                             std::string(call) + " end) end",
                         "t"));
    int results = 0;
    LuaOutcome outcome = LuaOutcome::kSliced;
    while (outcome == LuaOutcome::kSliced)
      outcome = lua.resume(coroutine, 0, &results);
    EXPECT_EQ(outcome, LuaOutcome::kFailed) << call;
    EXPECT_EQ(lua.forbidden_code(), kInstructionLimit) << call;
  }
}

}  // namespace
}  // namespace windrow::program
