// Where the slices of a program end, by instructions and by time, and that no program can tell.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "program/limits.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Time that moves by itself, between `least` and `most` each time that it is read.
class MovingClock final : public Clock {
 public:
  MovingClock(Duration least, Duration most, uint64_t seed = 1)
      : least_(least), most_(most), random_(seed) {}

  TimePoint now() const override {
    now_ += Duration(random_.between(least_.count(), most_.count()));
    return now_;
  }
  int64_t unix_seconds() const override { return 0; }

 private:
  const Duration least_;
  const Duration most_;
  mutable Random random_;
  mutable TimePoint now_;
};

struct SlicedEnd {
  LuaOutcome outcome = LuaOutcome::kFailed;
  std::string text;
  int slices = 0;
};

SlicedEnd run_sliced(const Clock& clock, const ProgramLimits& limits, const std::string& source) {
  LuaState lua(limits, clock, nullptr);
  lua_State* const coroutine = lua_newthread(lua.main());
  SlicedEnd end;
  const Result<void> loaded = lua.load(coroutine, source, "t");
  EXPECT_TRUE(loaded);
  if (!loaded) return end;
  int results = 0;
  while ((end.outcome = lua.resume(coroutine, 0, &results)) == LuaOutcome::kSliced)
    ++end.slices;
  const char* text = results > 0 ? lua_tostring(coroutine, -results) : nullptr;
  if (text != nullptr) end.text = text;
  return end;
}

TEST(LuaSlices, ASliceEndsAfterItsInstructions) {
  const testing::ManualClock clock;
  const SlicedEnd end = run_sliced(clock, {}, "for i = 1, 1000000 do end return 'done'");
  EXPECT_EQ(end.text, "done");
  EXPECT_EQ(end.slices, 1'000'000 / kSliceInstructions);
}

TEST(LuaSlices, ASliceEndsWhenItsTimeIsOver) {
  const std::string source = "for i = 1, 1000000 do end return 'done'";
  const SlicedEnd often = run_sliced(MovingClock(kSliceTime, kSliceTime), {}, source);
  EXPECT_EQ(often.text, "done");
  EXPECT_EQ(often.slices, 1'000'000 / kHookInstructions);
  const SlicedEnd seldom = run_sliced(MovingClock(milliseconds(1), milliseconds(1)), {}, source);
  EXPECT_EQ(seldom.text, "done");
  EXPECT_EQ(seldom.slices, 1'000'000 / kHookInstructions / 5);
}

// What reads a table that was emptied takes long, and nothing is charged for what is not there.
TEST(LuaSlices, AFunctionThatTookLongEndsItsSlice) {
  const std::string source =
      "local t = {} for i = 1, 10 do next(t) for _ in pairs(t) do end end return 'done'";
  const SlicedEnd end = run_sliced(MovingClock(kSliceTime, kSliceTime), {}, source);
  EXPECT_EQ(end.text, "done");
  EXPECT_EQ(end.slices, 20);
  EXPECT_EQ(run_sliced(testing::ManualClock(), {}, source).slices, 0);
}

// Where a coroutine cannot be suspended its time may be over for long.
TEST(LuaSlices, InstructionsCountWhereNoSliceCanEnd) {
  for (const char* body : {"", "next({})", "local s = ('x'):rep(2000)", "pairs({})"}) {
    ProgramLimits limits;
    limits.instructions_max = 1'000'000;
    const SlicedEnd end = run_sliced(
        MovingClock(microseconds(0), microseconds(300)), limits,
        "table.sort({3, 2, 1}, function() while true do " + std::string(body) + " end end)");
    EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
    EXPECT_TRUE(end.text.starts_with("instruction limit of 1000000 exceeded")) << end.text;
  }
}

// A few instructions there can take long.
TEST(LuaSlices, TimeIsLimitedWhereNoSliceCanEnd) {
  for (const char* source : {
           "table.sort({3, 2, 1}, function() while true do end end)",
           "while true do pcall(string.gsub, 'x', 'x', function() while true do end end) end",
           "local x <close> = setmetatable({}, {__close = function() while true do end end}) "
           "table.sort({3, 2, 1}, function() while true do end end)",
       }) {
    const SlicedEnd end =
        run_sliced(MovingClock(milliseconds(4), milliseconds(4)), ProgramLimits(), source);
    EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
    EXPECT_TRUE(end.text.starts_with("a function ran for 5 seconds where nothing")) << end.text;
  }
}

// The clock is looked at more often where an instruction works on something long.
TEST(LuaSlices, SlicesAreShortWhereStringsAreLong) {
  const auto slices = [](const std::string& before) {
    return run_sliced(MovingClock(kSliceTime, kSliceTime), {},
                      before + " for i = 1, 10000 do end return 'done'")
        .slices;
  };
  const int normally = slices("");
  EXPECT_NEAR(normally, 100, 5);
  EXPECT_NEAR(slices("local s = ('x'):rep(20000)"), 1000, 10);
  EXPECT_NEAR(slices("local s = ('x'):rep(2000000)"), 5000, 50);
  EXPECT_NEAR(slices("local function f(n) if n > 0 then return 1 + f(n - 1) end return 0 end "
                     "f(2000)"),
              5000, 4000);
}

TEST(LuaSlices, ASliceMayEndAtAnyInstruction) {
  const std::string source = R"(
    local function values(n) if n == 0 then return end return n, values(n - 1) end
    local function count(...) return select('#', ...), (...) end
    local text = {}
    local object = setmetatable({}, {
      __index = function(_, k) return k .. '!' end, __lt = function() return true end,
      __concat = function() return 'c' end, __eq = function() return true end,
      __len = function() return 7 end, __call = function(_, ...) return ... end,
      __close = function() text[#text + 1] = 'closed' end})
    for i = 1, 12 do
      local guard <close> = object
      local ok, message = pcall(function() if i % 3 == 0 then error('e' .. i, 0) end return i end)
      local list = {count(object(values(i % 5 + 1)))}
      text[#text + 1] = #list .. tostring(message) .. object[i] .. (object .. i) .. #object
      if object < {} and not (object ~= setmetatable({}, getmetatable(object))) then
        text[#text + 1] = string.gsub('ab', '.', function(c) return object[c] end)
      end
      table.sort(list, function(a, b) return a > b end)
    end
    return table.concat(text, ' '))";
  const testing::ManualClock clock;
  const std::string expected = run_sliced(clock, {}, source).text;
  EXPECT_GT(expected.size(), 200U) << expected;
  // The slice ends somewhere within it, each time one instruction later.
  int slices = 0;
  for (int before = kSliceInstructions - 500; before < kSliceInstructions; ++before) {
    const SlicedEnd end =
        run_sliced(clock, {}, "for i = 1, " + std::to_string(before) + " do end " + source);
    ASSERT_EQ(end.text, expected) << before;
    slices += end.slices;
  }
  EXPECT_GT(slices, 300);
}

TEST(LuaSlices, WhereSlicesEndChangesNoResult) {
  const std::string source = R"(
    local lines = {}
    local function line(...) lines[#lines + 1] = string.format(...) end
    local object = setmetatable({}, {
      __index = function(_, k) return k .. '!' end, __lt = function() return true end,
      __concat = function() return 'c' end, __eq = function() return true end,
      __len = function() return 7 end, __call = function(_, ...) return ... end,
      __close = function() line('closed') end})
    local function fibonacci(n) return n < 2 and n or fibonacci(n - 1) + fibonacci(n - 2) end
    local counts = {}
    for i = 1, 300 do
      local guard <close> = object
      local ok, message = pcall(function() if i % 3 == 0 then error('e' .. i, 0) end return i end)
      line('%s %s %s %s', ok, message, object[i], #object + fibonacci(i % 11))
      local list = {object(i, i * 7 % 13, i * 5 % 11)}
      table.sort(list, function(a, b) return a > b end)
      line(table.concat(list, ' '))
      for word in ('one two three'):gmatch('%a+') do counts[word .. i % 7] = i end
      if i % 50 == 0 then for k, v in pairs(counts) do line('%s=%d', k, v) end end
      line((string.gsub('ab', '.', function(c) return object[c] .. fibonacci(5) end)))
    end
    return table.concat(lines, '\n'))";
  const SlicedEnd whole = run_sliced(testing::ManualClock(), {}, source);
  ASSERT_EQ(whole.outcome, LuaOutcome::kReturned) << whole.text;
  ASSERT_GT(whole.text.size(), 10'000U);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const MovingClock clock(milliseconds(0), milliseconds(9), seed);
    const SlicedEnd sliced = run_sliced(clock, {}, source);
    EXPECT_GT(sliced.slices, whole.slices + 50);
    ASSERT_EQ(sliced.text, whole.text) << "seed " << seed;
  }
}

}  // namespace
}  // namespace windrow::program
