#include "program/lua/lua_pairs.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/manual_clock.h"
#include "program/limits.h"
#include "program/lua/lua_display.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

class LuaPairs : public ::testing::Test {
 protected:
  LuaPairs() : lua_({}, clock_, nullptr) {
    lua_register(lua_.main(), "wait", [](lua_State* state) { return lua_yield(state, 0); });
  }

  // The first result of a source text, or its error as "error: ...". What waits goes on at once.
  std::string run(const std::string& source) {
    lua_State* const coroutine = lua_newthread(lua_.main());
    const Result<void> loaded = lua_.load(coroutine, source, "t");
    if (!loaded) return loaded.error().message;
    int results = 0;
    LuaOutcome outcome = LuaOutcome::kSliced;
    while (outcome == LuaOutcome::kSliced || outcome == LuaOutcome::kSuspended)
      outcome = lua_.resume(coroutine, 0, &results);
    if (results == 0) return "";
    return (outcome == LuaOutcome::kFailed ? "error: " : "") +
           std::string(push_display(coroutine, -results, nullptr));
  }

  // The keys of a table in the order in which pairs visits them.
  std::string keys_of(const std::string& table) {
    return run("local keys = {} for key in pairs(" + table +
               ") do keys[#keys + 1] = tostring(key) end return table.concat(keys, ' ')");
  }

  const testing::ManualClock clock_;
  LuaState lua_;
};

TEST_F(LuaPairs, KeysAreVisitedInAFixedOrder) {
  EXPECT_EQ(keys_of("{}"), "");
  EXPECT_EQ(keys_of("{7, 8, 9}"), "1 2 3");
  EXPECT_EQ(keys_of("{b = 1, a = 2, B = 3, ['\xff'] = 4, ab = 5, ['10'] = 6, ['9'] = 7}"),
            "10 9 B a ab b \xff");
  EXPECT_EQ(keys_of("{x = 1, [true] = 2, 3, [false] = 4, [-1] = 5, [0.5] = 6, [2.5] = 7, 8}"),
            "-1 0.5 1 2 2.5 x false true");
  EXPECT_EQ(keys_of("{[{}] = 1, z = 2, [print or type] = 3, [true] = 4, 5}").substr(0, 8),
            "1 z true");
}

TEST_F(LuaPairs, NumbersAreComparedExactly) {
  EXPECT_EQ(keys_of("{[math.maxinteger] = 1, [2^63] = 2, [math.mininteger] = 3, [-2^63 * 1.5] = 4, "
                    "[math.huge] = 5, [-math.huge] = 6, [math.maxinteger - 1] = 7, [-0.5] = 8, "
                    "[0] = 9}"),
            "-inf -1.3835058055282e+19 -9223372036854775808 -0.5 0 9223372036854775806 "
            "9223372036854775807 9.2233720368548e+18 inf");
}

// The keys come in another order from Lua each time: its hashes have a seed for each state.
TEST_F(LuaPairs, TheOrderIsThatOfASort) {
  const std::string random_keys = R"(
    local x = 12345
    local function draw(n) x = (x * 1103515245 + 12345) % (1 << 31) return (x >> 8) % n end
    for round = 1, 200 do
      local t, numbers, texts = {}, {}, {}
      for i = 1, draw(60) do
        local kind = draw(4)
        local key = kind == 0 and draw(40) - 20 or kind == 1 and draw(40) / 4 - 5
          or kind == 2 and 'k' .. draw(100) or ('long '):rep(12) .. draw(9)
        if t[key] == nil then
          local list = type(key) == 'number' and numbers or texts
          list[#list + 1] = key
        end
        t[key] = i
      end
      table.sort(numbers) table.sort(texts)
      table.move(texts, 1, #texts, #numbers + 1, numbers)
      local n = 0
      for key, value in pairs(t) do
        n = n + 1
        if key ~= numbers[n] or value ~= t[key] then return round .. ' at ' .. n end
      end
      if n ~= #numbers then return round .. ' has ' .. n end
      if next(t) ~= numbers[1] then return round .. ': next' end
    end
    return 'same')";
  EXPECT_EQ(run(random_keys), "same");
}

TEST_F(LuaPairs, KeysThatAreRemovedMeanwhileAreSkippedAndNewOnesNotVisited) {
  for (const char* table : {"{1, 2, 3, 4}", "{a = 1, b = 2, c = 3, d = 4}"}) {
    EXPECT_EQ(run("local t, n, list = " + std::string(table) +
                  ", 0, {} for k, v in pairs(t) do n = n + 1 list[#list + 1] = v "
                  "if n == 1 then for other, w in pairs(t) do if w == 2 then t[other] = nil end "
                  "if w == 3 then t[other] = 'changed' end end for i = 5, 99 do t[i] = i end end "
                  "end return table.concat(list, ' ')"),
              "1 changed 4")
        << table;
  }
}

TEST_F(LuaPairs, ATableMayBeEmptiedMeanwhile) {
  EXPECT_EQ(run("local t = {} for i = 1, 5000 do t[i] = i t['k' .. i] = i end local n = 0 "
                "for k in pairs(t) do n = n + 1 t[k] = nil end return n .. tostring(next(t))"),
            "10000nil");
  EXPECT_EQ(run("local t = {a = 1, b = 2} for k in pairs(t) do t.a = nil t.b = nil "
                "for i = 1, 1000 do local x = {i} end end return tostring(next(t))"),
            "nil");
}

TEST_F(LuaPairs, LoopsMayBeNestedAndLeft) {
  EXPECT_EQ(run("local t, text = {x = 1, y = 2}, '' for a in pairs(t) do for b in pairs(t) do "
                "text = text .. a .. b .. ' ' end end return text"),
            "xx xy yx yy ");
  EXPECT_EQ(run("for k in pairs({b = 1, a = 2}) do return k end"), "a");
}

TEST_F(LuaPairs, WhatPairsReturnsMayBeCalledByHand) {
  EXPECT_EQ(run("local t = {b = 1, a = 2} local f, s, k = pairs(t) "
                "return tostring(s == t) .. tostring(k) .. f(s, k) .. f(s, 'a') .. "
                "tostring(f(s, 'b')) .. tostring(f(s, 'b'))"),
            "truenilabnilnil");
}

TEST_F(LuaPairs, AMetamethodDecides) {
  EXPECT_EQ(run("local t = setmetatable({1}, {__pairs = function(t) return function(_, k) "
                "if not k then return 'only', t[1] end end, t, nil, 'dropped' end}) "
                "local text = '' for k, v in pairs(t) do text = text .. k .. v end "
                "return text .. select('#', pairs(t))"),
            "only13");
  EXPECT_EQ(run("local t = setmetatable({}, {__pairs = function(t) wait() return next, {}, nil "
                "end}) for k in pairs(t) do return k end return 'waited'"),
            "waited");
  EXPECT_EQ(keys_of("setmetatable({a = 1}, {__index = {b = 2}})"), "a");
}

TEST_F(LuaPairs, NextGivesTheFirstKeyAndItsValue) {
  EXPECT_EQ(run("return next({})"), "nil");
  EXPECT_EQ(run("return select('#', next({}))"), "1");
  EXPECT_EQ(run("local k, v = next({b = 1, a = 2, [true] = 3}) return k .. v"), "a2");
  EXPECT_EQ(run("local k, v = next({b = 1, 5, 6}, nil) return k .. v"), "15");
  EXPECT_EQ(run("return type(next({[{}] = 1}))"), "table");
}

TEST_F(LuaPairs, ErrorsSayWhatToDo) {
  const char* const refused =
      "error: t:1: next: the key after another is not available to programs; use pairs(t), which "
      "visits keys in a fixed order";
  EXPECT_EQ(run("next({1, 2}, 1)"), refused);
  EXPECT_EQ(run("for k in next, {1, 2} do end"), refused);
  EXPECT_EQ(run("pairs(nil)"), "error: t:1: bad argument #1 to 'pairs' (table expected, got nil)");
  EXPECT_EQ(run("pairs()"), "error: t:1: bad argument #1 to 'pairs' (value expected)");
  EXPECT_EQ(run("next('x')"), "error: t:1: bad argument #1 to 'next' (table expected, got string)");
}

// A program cannot keep the thread busy with few instructions.
TEST_F(LuaPairs, WorkIsChargedAsInstructions) {
  for (const char* call :
       {"pairs(t)", "next(t)", "pairs(list)", "next(list)", "pairs(long)", "next(long)"}) {
    ProgramLimits limits;
    limits.instructions_max = 2'000'000;
    LuaState lua(limits, clock_, nullptr);
    lua_State* const coroutine = lua_newthread(lua.main());
    ASSERT_TRUE(lua.load(coroutine,
                         "local t, list, long = {}, {}, {} for i = 1, 30000 do t['k' .. i] = i "
                         "list[i] = i end for i = 1, 10 do long[('x'):rep(1 << 20) .. i] = i end "
                         "for i = 1, 1000 do " +
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

TEST_F(LuaPairs, MemoryMayRunOutAtAnyAllocation) {
  int ended = 0;
  for (size_t memory = 40'000; memory < 120'000; memory += 111) {
    ProgramLimits limits;
    limits.memory_bytes_max = memory;
    LuaState lua(limits, clock_, nullptr);
    lua_State* const coroutine = lua_newthread(lua.main());
    if (!lua.load(coroutine,
                  "local t, n = {}, 0 for i = 1, 300 do t['k' .. i % 100] = i t[i] = i end "
                  "for k in pairs(t) do for l in pairs({1, 2, a = 3}) do n = n + 1 end end "
                  "return n",
                  "t")) {
      continue;
    }
    int results = 0;
    LuaOutcome outcome = LuaOutcome::kSliced;
    while (outcome == LuaOutcome::kSliced)
      outcome = lua.resume(coroutine, 0, &results);
    if (outcome == LuaOutcome::kReturned) {
      EXPECT_EQ(lua_tointeger(coroutine, -1), 1200);
      ++ended;
    } else {
      EXPECT_EQ(lua.forbidden_code(), kMemoryLimit);
    }
  }
  EXPECT_GT(ended, 10);
  EXPECT_LT(ended, 700);
}

}  // namespace
}  // namespace windrow::program
