#include "program/lua/lua_display.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/manual_clock.h"
#include "program/lua/lua_json.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

class LuaDisplay : public ::testing::Test {
 protected:
  LuaDisplay() : lua_({}, clock_, nullptr) {
    lua_State* const state = lua_.main();
    open_json(state);
    lua_newuserdatauv(state, 1, 0);
    lua_setglobal(state, "userdata");
    lua_newuserdatauv(state, 1, 0);
    luaL_newmetatable(state, "thing");
    lua_setmetatable(state, -2);
    lua_setglobal(state, "thing");
  }

  // The first result of a source text, or its error as "error: ...".
  std::string run(const std::string& source) {
    lua_State* const state = lua_.main();
    lua_settop(state, 0);
    const Result<void> loaded = lua_.load(state, source, "t");
    if (!loaded) return loaded.error().message;
    const int status = lua_pcall(state, 0, 1, 0);
    size_t size = 0;
    const char* text = push_display(state, -1, &size);
    return (status == LUA_OK ? "" : "error: ") + std::string(text, size);
  }

  const testing::ManualClock clock_;
  LuaState lua_;
};

TEST_F(LuaDisplay, ValuesAreShownWithoutAddresses) {
  EXPECT_EQ(run("return {}"), "table");
  EXPECT_EQ(run("return print or function() end"), "function");
  EXPECT_EQ(run("return tostring({})"), "table");
  EXPECT_EQ(run("return tostring(tostring)"), "function");
  EXPECT_EQ(run("return tostring(function() end)"), "function");
  EXPECT_EQ(run("return tostring(userdata)"), "userdata");
  EXPECT_EQ(run("return tostring(thing)"), "thing");
  EXPECT_EQ(run("return tostring(json.null)"), "null");
  EXPECT_EQ(run("return tostring(setmetatable({}, {__name = 'Point'}))"), "Point");
  EXPECT_EQ(run("return tostring(setmetatable({}, {__name = 3}))"), "table");
}

TEST_F(LuaDisplay, OtherValuesAreShownAsLuaDoes) {
  EXPECT_EQ(run("return tostring(nil)"), "nil");
  EXPECT_EQ(run("return tostring(false)"), "false");
  EXPECT_EQ(run("return tostring(3)"), "3");
  EXPECT_EQ(run("return tostring(3.0)"), "3.0");
  EXPECT_EQ(run("return tostring(0.1)"), "0.1");
  EXPECT_EQ(run("return tostring('a\\0b')"), std::string("a\0b", 3));
  EXPECT_EQ(run("tostring()"), "error: t:1: bad argument #1 to 'tostring' (value expected)");
}

TEST_F(LuaDisplay, MetamethodsDecide) {
  EXPECT_EQ(run("return tostring(setmetatable({}, {__tostring = function() return 'x' end}))"),
            "x");
  EXPECT_EQ(run("return tostring(setmetatable({}, {__name = 'n', __tostring = function(t) "
                "return type(t) end}))"),
            "table");
  EXPECT_EQ(run("tostring(setmetatable({}, {__tostring = function() return {} end}))"),
            "error: t:1: '__tostring' must return a string");
  EXPECT_EQ(run("tostring(setmetatable({}, {__tostring = function() error('why', 0) end}))"),
            "error: why");
}

TEST_F(LuaDisplay, FormatShowsNoAddresses) {
  EXPECT_EQ(run("return string.format('%s %s %s', {}, tostring, userdata)"),
            "table function userdata");
  EXPECT_EQ(run("return ('%d%% %s|%-7s|%.2s'):format(5, {}, {}, {})"), "5% table|table  |ta");
  EXPECT_EQ(run("return ('%s'):format(setmetatable({}, {__tostring = function() return 'x' end}))"),
            "x");
  EXPECT_EQ(run("return ('%s %s %s %5.1f %q %x'):format(nil, true, 'text', 1, 'q', 255)"),
            "nil true text   1.0 \"q\" ff");
  for (const char* format : {"%p", "%-10p", "%%%p", "%s %p"}) {
    EXPECT_EQ(run("return string.format('" + std::string(format) + "', {}, {})"),
              "error: t:1: string.format: %p is not available to programs, as addresses differ "
              "from run to run; use %s");
  }
}

TEST_F(LuaDisplay, ErrorsOfFormatAreLuasOwn) {
  EXPECT_EQ(run("string.format('%s')"), "error: t:1: bad argument #2 to 'format' (no value)");
  EXPECT_EQ(run("string.format('%d', {})"),
            "error: t:1: bad argument #2 to 'format' (number expected, got table)");
  EXPECT_EQ(run("string.format('%y', {})"), "error: t:1: invalid conversion '%y' to 'format'");
  EXPECT_EQ(run("string.format('%', 1)"), "error: t:1: invalid conversion '%' to 'format'");
  EXPECT_EQ(run("string.format({})"),
            "error: t:1: bad argument #1 to 'format' (string expected, got table)");
}

}  // namespace
}  // namespace windrow::program
