#include "program/lua/lua_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "base/testing/manual_clock.h"
#include "program/lua/lua_json.h"

namespace windrow::program {
namespace {

// What became of a program that was run to its end.
struct LuaEnd {
  LuaOutcome outcome = LuaOutcome::kFailed;
  std::string text;  // the first result, or the error
  int slices = 0;
  int waits = 0;
};

int wait(lua_State* state) {
  return lua_yield(state, lua_gettop(state));
}

int throw_foreign(lua_State*) {
  throw std::runtime_error("not Lua's");
}

int charge_much(lua_State* state) {
  LuaState::charge(state, luaL_checkinteger(state, 1));
  return 0;
}

int forbid_tokens(lua_State* state) {
  LuaState::of(state).forbid(kTokenLimit, "token limit exceeded");
  return 0;
}

class LuaStateTest : public ::testing::Test {
 protected:
  LuaStateTest() { reset({}); }

  void reset(const ProgramLimits& limits) {
    lua_ = std::make_unique<LuaState>(limits, clock_, this);
    lua_register(lua_->main(), "wait", wait);
    lua_register(lua_->main(), "throw_foreign", throw_foreign);
    lua_register(lua_->main(), "charge", charge_much);
    lua_register(lua_->main(), "forbid_tokens", forbid_tokens);
    open_json(lua_->main());
  }

  void limit_instructions(int64_t most) {
    ProgramLimits limits;
    limits.instructions_max = most;
    reset(limits);
  }

  lua_State* start(const std::string& source) {
    lua_State* const coroutine = lua_newthread(lua_->main());
    const Result<void> loaded = lua_->load(coroutine, source, "test.lua");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return coroutine;
  }

  LuaEnd finish(lua_State* coroutine) {
    LuaEnd end;
    int results = 0;
    while (true) {
      end.outcome = lua_->resume(coroutine, 0, &results);
      if (end.outcome == LuaOutcome::kSliced) {
        EXPECT_EQ(results, 0);
        ++end.slices;
        continue;
      }
      if (end.outcome != LuaOutcome::kSuspended) break;
      lua_pop(coroutine, results);
      ++end.waits;
      lua_->set_instructions(0);
    }
    const char* text = results > 0 ? lua_tostring(coroutine, -results) : nullptr;
    if (text != nullptr) end.text = text;
    return end;
  }

  LuaEnd run(const std::string& source) { return finish(start(source)); }

  void expect_instruction_limit(const std::string& source) {
    limit_instructions(300'000);
    const LuaEnd end = run(source);
    EXPECT_EQ(end.outcome, LuaOutcome::kFailed) << source;
    EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit) << source << ": " << end.text;
    EXPECT_EQ(end.text,
              "instruction limit of 300000 exceeded between two calls that wait; do less between "
              "them, or raise --program-instructions");
  }

  void expect_memory_limit(const std::string& source) {
    ProgramLimits limits;
    limits.memory_bytes_max = size_t{2} << 20;
    limits.instructions_max = 10'000'000;
    reset(limits);
    const LuaEnd end = run(source);
    EXPECT_EQ(end.outcome, LuaOutcome::kFailed) << source;
    EXPECT_EQ(lua_->forbidden_code(), kMemoryLimit) << source << ": " << end.text;
    EXPECT_TRUE(end.text.starts_with("memory limit of 2 MiB exceeded; keep less")) << end.text;
    EXPECT_LE(lua_->bytes_peak(), (size_t{2} << 20) + (64 << 10));
  }

  const testing::ManualClock clock_;
  std::unique_ptr<LuaState> lua_;
};

TEST_F(LuaStateTest, AProgramReturns) {
  const LuaEnd end = run("local a = 40; return a + 2");
  EXPECT_EQ(end.outcome, LuaOutcome::kReturned);
  EXPECT_EQ(end.text, "42");
  EXPECT_EQ(end.slices, 0);
}

TEST_F(LuaStateTest, ItsOwnerAndItselfAreFoundFromEveryCoroutine) {
  lua_State* const coroutine = lua_newthread(lua_->main());
  EXPECT_EQ(&LuaState::of(coroutine), lua_.get());
  EXPECT_EQ(&LuaState::of(lua_newthread(coroutine)), lua_.get());
  EXPECT_EQ(LuaState::of(coroutine).owner(), this);
}

TEST_F(LuaStateTest, ACoroutineWaitsAndGoesOnWithValues) {
  lua_State* const coroutine = start("local a, b = wait('x', 'y'); return a .. b");
  int results = 0;
  ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kSuspended);
  ASSERT_EQ(results, 2);
  EXPECT_STREQ(lua_tostring(coroutine, -1), "y");
  lua_pop(coroutine, 2);
  lua_pushstring(coroutine, "1");
  lua_pushstring(coroutine, "2");
  ASSERT_EQ(lua_->resume(coroutine, 2, &results), LuaOutcome::kReturned);
  ASSERT_EQ(results, 1);
  EXPECT_STREQ(lua_tostring(coroutine, -1), "12");
}

TEST_F(LuaStateTest, WaitingWorksInsidePcallAndXpcallAndIterators) {
  const LuaEnd end = run(R"(
    local ok, value = pcall(function() wait(); wait(); return 'p' end)
    local function exclaim(e) return e .. '!' end
    local also, other = xpcall(function() wait(); error('x', 0) end, exclaim)
    local n = 0
    for i in function(_, i) wait(); if i < 2 then return i + 1 end end, nil, 0 do n = n + i end
    return tostring(ok) .. value .. tostring(also) .. other .. n)");
  EXPECT_EQ(end.text, "truepfalsex!3");
  EXPECT_EQ(end.waits, 6);
}

TEST_F(LuaStateTest, AnErrorIsOnTopOfTheStack) {
  const LuaEnd end = run("local t = nil\nreturn t.x");
  EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
  EXPECT_EQ(end.text, "test.lua:2: attempt to index a nil value (local 't')");
  EXPECT_FALSE(lua_->is_forbidden());
}

TEST_F(LuaStateTest, AnExceptionThatIsNotLuasFails) {
  const LuaEnd end = run("throw_foreign()");
  EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
  EXPECT_EQ(end.text, "internal error: an exception that is not Lua's");
  EXPECT_EQ(run("return 'the state goes on'").text, "the state goes on");
}

// --- load ---

TEST_F(LuaStateTest, WhatDoesNotCompileIsAnErrorWithItsLine) {
  const Result<void> loaded = lua_->load(lua_->main(), "local a\nlocal = 3", "p.lua");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(loaded.error().message, "p.lua:2: <name> expected near '='");
  EXPECT_EQ(lua_gettop(lua_->main()), 0);
}

TEST_F(LuaStateTest, CompiledLuaIsRefused) {
  const Result<void> loaded = lua_->load(lua_->main(), "\x1bLua\x54", "p.lua");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "p.lua:1: this is compiled Lua; programs are source text");
}

TEST_F(LuaStateTest, DeepNestingInTheSourceIsAnError) {
  const std::string deep(100'000, '(');
  for (const std::string& source : {"return " + deep, "return " + std::string(100'000, '{'),
                                    "return " + std::string(100'000, '~'),
                                    std::string("return ") + std::string(100'000, '#') + "x"}) {
    const Result<void> loaded = lua_->load(lua_->main(), source, "p.lua");
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find("C stack overflow"), std::string::npos)
        << loaded.error().message;
  }
}

TEST_F(LuaStateTest, ASourceThatDoesNotFitHitsTheMemoryLimit) {
  ProgramLimits limits;
  limits.memory_bytes_max = 200'000;
  reset(limits);
  std::string source = "return {";
  for (int i = 0; i < 50'000; ++i)
    source += "'a" + std::to_string(i) + "',";
  const Result<void> loaded = lua_->load(lua_->main(), source + "}", "p.lua");
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().message.starts_with("p.lua: memory limit of 200000 bytes exceeded; "));
  EXPECT_EQ(lua_->forbidden_code(), kMemoryLimit);
}

// --- slices and the instruction limit ---

TEST_F(LuaStateTest, ALongComputationIsSlicedAndIsRight) {
  const LuaEnd end = run(R"(
    local function two() return 1, 2 end
    local function add(...) local s = 0 for i = 1, select('#', ...) do s = s + (select(i, ...)) end
      return s end
    local t = setmetatable({}, {__index = function(_, k) return k end,
                                __concat = function(a, b) return 'c' end})
    local sum, text = 0, ''
    for i = 1, 60000 do
      sum = sum + add(two()) + add(i, two()) + t[i] + #{two(), two()}
      if i % 10000 == 0 then text = text .. (t .. i) end
    end
    return string.format('%d %s', sum, text))");
  EXPECT_EQ(end.outcome, LuaOutcome::kReturned);
  EXPECT_EQ(end.text, "3600600000 cccccc");
  EXPECT_GT(end.slices, 20);
}

TEST_F(LuaStateTest, InstructionsAreCountedUntilTheOwnerSetsThem) {
  limit_instructions(1'000'000);
  EXPECT_EQ(run("for j = 1, 5 do for i = 1, 600000 do end wait() end return 'done'").text, "done");
  lua_->set_instructions(0);
  run("for i = 1, 600000 do end");
  EXPECT_GE(lua_->instructions(), 500'000);
  run("for i = 1, 600000 do end");
  EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit);
}

TEST_F(LuaStateTest, NothingKeepsAProgramAlivePastTheInstructionLimit) {
  for (const char* source : {
           "while true do end",
           "::again:: goto again",
           "repeat until false",
           "local function f() return f() end f()",
           "while true do pcall(function() while true do end end) end",
           "while true do pcall(pcall, pcall, function() while true do end end) end",
           "while true do xpcall(function() while true do end end, function() while true do end "
           "end) end",
           "xpcall(error, function() while true do end end)",
           "xpcall(error, function() while true do pcall(error) end end)",
           "xpcall(function() local x = nil; x() end, function(e) return e .. nil end) "
           "while true do end",
           "while true do pcall(error) end",
           "local t = setmetatable({}, {__index = function() while true do end end}) "
           "while true do pcall(function() return t.x end) end",
           "local t = setmetatable({}, {__lt = function() while true do end end}) return t < t",
           "local t = setmetatable({}, {__concat = function() while true do end end}) "
           "return t .. 'x'",
           "local t = setmetatable({}, {__len = function() while true do end end}) return #t",
           "local t = setmetatable({}, {__tostring = function() while true do end end}) "
           "while true do pcall(tostring, t) end",
           "local t = setmetatable({}, {__eq = function() while true do end end}) "
           "return t == setmetatable({}, getmetatable(t))",
           "for _ in function() return 1 end do end",
           "for _ in function() while true do end end do end",
           "for _ in pairs(setmetatable({}, {__pairs = function() while true do end end})) do end",
           "table.sort({3, 2, 1}, function() while true do end end)",
           "table.sort({3, 2, 1}, function() while true do pcall(function() while true do end end) "
           "end end)",
           "while true do pcall(table.sort, {3, 2, 1}, function() while true do end end) end",
           "string.gsub('aaa', 'a', function() while true do end end)",
           "while true do pcall(string.gsub, 'a', 'a', function() while true do pcall(error) end "
           "end) end",
           "local x <close> = setmetatable({}, {__close = function() while true do end end})",
           "pcall(function() local x <close> = setmetatable({}, {__close = function() "
           "while true do pcall(error) end end}) while true do end end)",
           "local t <close> = setmetatable({}, {__close = function() while true do end end}) "
           "table.sort({3, 2, 1}, function() while true do end end)",
       }) {
    expect_instruction_limit(source);
  }
}

TEST_F(LuaStateTest, AfterALimitNoCodeOfTheProgramRuns) {
  expect_instruction_limit(R"(
    after = 0
    local x <close> = setmetatable({}, {__close = function() after = after + 1 end})
    pcall(table.sort, {3, 2, 1}, function() while true do end end)
    after = after + 1)");
  lua_getglobal(lua_->main(), "after");
  EXPECT_EQ(lua_tointeger(lua_->main(), -1), 0);
  int results = 0;
  lua_State* const other = lua_newthread(lua_->main());
  EXPECT_EQ(lua_->resume(other, 0, &results), LuaOutcome::kFailed);
}

TEST_F(LuaStateTest, AHandlerThatWasCalledForALimitReturnsItsError) {
  expect_instruction_limit(R"(
    xpcall(table.sort, function() while true do end end, {3, 2, 1},
           function() while true do end end)
    while true do end)");
}

TEST_F(LuaStateTest, WorkInCCountsAsInstructions) {
  limit_instructions(1'000'000);
  const LuaEnd sliced = run("for i = 1, 5 do charge(150000) end return 'done'");
  EXPECT_EQ(sliced.text, "done");
  EXPECT_EQ(sliced.slices, 5);
  lua_->set_instructions(0);
  const LuaEnd end = run("pcall(charge, 1 << 62) return 'not reached'");
  EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
  EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit);
}

TEST_F(LuaStateTest, LargeStringsCountAsInstructions) {
  ProgramLimits limits;
  limits.memory_bytes_max = size_t{16} << 20;
  limits.instructions_max = 1'000'000;
  reset(limits);
  const LuaEnd end =
      run("local s = string.rep('x', 1 << 20) while true do local t = s:upper() end");
  EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit) << end.text;
  EXPECT_GE(end.slices, 5);
}

TEST_F(LuaStateTest, DeepRecursionThroughFunctionsOfCIsAnErrorOfTheProgram) {
  for (const char* source : {
           "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + "
           "1] "
           "end return pcall(function() return t[1] end)",
           "local function f(s) return (string.gsub(s, '.', f)) end return pcall(f, 'x')",
           "local function f() table.sort({2, 1}, f) end return pcall(f)",
           "local function f() return pcall(f) end return f()",
           "local function f() return tostring(setmetatable({}, {__tostring = f})) end "
           "return pcall(f)",
           "local t = {} for i = 1, 1000 do t = setmetatable({}, {__index = t}) end "
           "return pcall(function() return t.x end)",
           "local function f() return xpcall(f, f) end return f()",
           "local function f() local x <close> = setmetatable({}, {__close = f}) end "
           "return pcall(f)",
       }) {
    ProgramLimits limits;
    limits.instructions_max = 100'000'000;
    reset(limits);
    EXPECT_EQ(run(source).outcome, LuaOutcome::kReturned) << source;
    EXPECT_FALSE(lua_->is_forbidden()) << source << lua_->forbidden_message();
  }
}

TEST_F(LuaStateTest, AnOwnersLimitEndsTheProgramAtTheNextInstruction) {
  const LuaEnd end = run("pcall(function() forbid_tokens() end) return 'not reached'");
  EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
  EXPECT_EQ(end.text, "token limit exceeded");
  lua_->forbid(kTimeLimit, "time limit exceeded");
  EXPECT_EQ(lua_->forbidden_code(), kTokenLimit);
}

TEST_F(LuaStateTest, AnOwnersLimitWhileACoroutineWaitsFailsItsNextResume) {
  lua_State* const coroutine = start("pcall(wait) while true do pcall(wait) end");
  int results = 0;
  ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kSuspended);
  lua_->forbid(kTimeLimit, "time limit exceeded");
  ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kFailed);
  ASSERT_EQ(results, 1);
  EXPECT_STREQ(lua_tostring(coroutine, -1), "time limit exceeded");
}

// --- the memory limit ---

TEST_F(LuaStateTest, NothingKeepsAProgramAlivePastTheMemoryLimit) {
  for (const char* source : {
           "local t = {} for i = 1, 1e9 do t[i] = i end",
           "local t = {} while true do t = {t} end",
           "local s = 'x' while true do s = s .. s end",
           "local s = 'x' while true do pcall(function() s = s .. s end) end",
           "string.rep('x', 1 << 30)",
           "local ok, e = pcall(string.rep, 'x', 1500000) error(e, 0)",
           "pcall(string.rep, 'x', 1 << 30) while true do end",
           "while true do pcall(string.rep, 'x', 1 << 30) end",
           "string.rep('xxxxxxxxxx', 1 << 20, ',')",
           "local t = {} for i = 1, 1e9 do t[i] = function() return t end end",
           "local t = {} while true do local ok = pcall(function() t[#t + 1] = {} end) end",
           "local t = {} while true do xpcall(function() t[#t + 1] = {} end, function(e) "
           "return e .. e end) end",
           "local t = {} table.sort({3, 2, 1}, function() while true do pcall(function() "
           "t[#t + 1] = {} end) end end)",
           "local s = string.rep('x', 1000000) return s:rep(2) .. s",
           "return table.concat({('x'):rep(1000000), ('y'):rep(1000000)})",
       }) {
    expect_memory_limit(source);
  }
}

TEST_F(LuaStateTest, GarbageIsCollectedBeforeTheMemoryLimitIsHit) {
  ProgramLimits limits;
  limits.memory_bytes_max = size_t{1} << 20;
  reset(limits);
  const LuaEnd end =
      run("local keep = ('k'):rep(300000) for i = 1, 50 do local s = ('x'):rep(300000 + i) end "
          "return #keep");
  EXPECT_EQ(end.text, "300000");
  EXPECT_FALSE(lua_->is_forbidden());
}

TEST_F(LuaStateTest, CollectionsNearTheMemoryLimitCountAsInstructions) {
  ProgramLimits limits;
  limits.memory_bytes_max = size_t{4} << 20;
  limits.instructions_max = 1'000'000;
  reset(limits);
  const LuaEnd end =
      run("local keep, part = {}, ('p'):rep(200000) for i = 1, 16 do keep[i] = part .. i end "
          "while true do local s = part .. 'x' end");
  EXPECT_EQ(end.outcome, LuaOutcome::kFailed);
  EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit);
}

TEST_F(LuaStateTest, MemoryIsCountedAndFreed) {
  const size_t before = lua_->bytes();
  EXPECT_EQ(run("kept = ('x'):rep(1000000)").outcome, LuaOutcome::kReturned);
  EXPECT_GE(lua_->bytes(), before + 1'000'000);
  EXPECT_EQ(run("kept = nil").outcome, LuaOutcome::kReturned);
  lua_settop(lua_->main(), 0);
  lua_->collect();
  EXPECT_LT(lua_->bytes(), before + 10'000);
  EXPECT_GE(lua_->bytes_peak(), before + 1'000'000);
}

// A thousand instances are to fit into 100 MB with their contexts.
TEST(LuaStateSize, AStateIsSmall) {
  const testing::ManualClock clock;
  LuaState lua({}, clock, nullptr);
  RecordProperty("bytes", static_cast<int>(lua.bytes()));
  EXPECT_LT(lua.bytes(), 32U << 10);
}

// Every amount of memory: each allocation of construction's rest, load, resume and close fails
// once.
TEST_F(LuaStateTest, MemoryMayRunOutAtAnyAllocation) {
  const std::string source = R"(
    local x <close> = setmetatable({}, {__close = function() local t = {1, 2, 3} end})
    local t = {}
    for i = 1, 200 do t[i] = {tostring(i), function() return t end} end
    local text = json.encode({a = {1, 2, {b = 'c'}}, d = ('e'):rep(300)})
    local value = json.decode(text)
    pcall(error, {})
    table.sort(t, function(a, b) return a[1] < b[1] end)
    wait(text:gsub('c', string.upper))
    return table.concat({text, text}))";
  int ended = 0;
  for (size_t memory = 40'000; memory < 120'000; memory += 333) {
    ProgramLimits limits;
    limits.memory_bytes_max = memory;
    reset(limits);
    lua_State* const coroutine = lua_newthread(lua_->main());
    if (!lua_->load(coroutine, source, "p.lua")) {
      EXPECT_EQ(lua_->forbidden_code(), kMemoryLimit);
      continue;
    }
    int results = 0;
    LuaOutcome outcome = lua_->resume(coroutine, 0, &results);
    if (outcome == LuaOutcome::kSuspended && memory % 2 == 0) {
      lua_->close(coroutine);
      EXPECT_EQ(lua_->is_forbidden() ? 0 : lua_gettop(coroutine), 0);
      continue;
    }
    if (outcome == LuaOutcome::kSuspended) outcome = lua_->resume(coroutine, 0, &results);
    if (outcome == LuaOutcome::kReturned) {
      ++ended;
    } else {
      EXPECT_EQ(outcome, LuaOutcome::kFailed);
      EXPECT_EQ(lua_->forbidden_code(), kMemoryLimit) << lua_tostring(coroutine, -1);
    }
  }
  EXPECT_GT(ended, 10);
}

// --- close ---

TEST_F(LuaStateTest, ClosingACoroutineClosesItsVariables) {
  lua_State* const coroutine = start(R"(
    closed = ''
    local function mark(name)
      return setmetatable({}, {__close = function() closed = closed .. name end})
    end
    local a <close> = mark('a')
    pcall(function() local b <close> = mark('b'); wait() end))");
  int results = 0;
  ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kSuspended);
  lua_->close(coroutine);
  EXPECT_EQ(lua_gettop(coroutine), 0);
  lua_getglobal(lua_->main(), "closed");
  EXPECT_STREQ(lua_tostring(lua_->main(), -1), "ba");
}

TEST_F(LuaStateTest, ClosingASlicedOrFailedOrNewCoroutineIsFine) {
  int results = 0;
  lua_State* const sliced = start(
      "local a <close> = setmetatable({}, {__close = function() closed = 1 end}) "
      "while true do end");
  ASSERT_EQ(lua_->resume(sliced, 0, &results), LuaOutcome::kSliced);
  lua_->close(sliced);
  lua_getglobal(lua_->main(), "closed");
  EXPECT_EQ(lua_tointeger(lua_->main(), -1), 1);

  lua_State* const failed = start(
      "local a <close> = setmetatable({}, {__close = function(_, e) closed = e end}) "
      "error('why', 0)");
  ASSERT_EQ(lua_->resume(failed, 0, &results), LuaOutcome::kFailed);
  lua_->close(failed);
  EXPECT_EQ(lua_gettop(failed), 0);
  lua_getglobal(lua_->main(), "closed");
  EXPECT_STREQ(lua_tostring(lua_->main(), -1), "why");

  lua_State* const fresh = start("return 1");
  lua_->close(fresh);
  EXPECT_EQ(lua_gettop(fresh), 0);

  lua_State* const foreign = start("throw_foreign()");
  ASSERT_EQ(lua_->resume(foreign, 0, &results), LuaOutcome::kFailed);
  lua_->close(foreign);
  EXPECT_EQ(lua_gettop(foreign), 0);
}

TEST_F(LuaStateTest, ErrorsAndWaitsWhileClosingAreDropped) {
  lua_State* const coroutine = start(R"(
    local a <close> = setmetatable({}, {__close = function() closed = true end})
    local b <close> = setmetatable({}, {__close = function() error('b') end})
    local c <close> = setmetatable({}, {__close = function() wait() end})
    wait())");
  int results = 0;
  ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kSuspended);
  lua_->close(coroutine);
  EXPECT_EQ(lua_gettop(coroutine), 0);
  EXPECT_FALSE(lua_->is_forbidden());
  lua_getglobal(lua_->main(), "closed");
  EXPECT_TRUE(lua_toboolean(lua_->main(), -1));
}

TEST_F(LuaStateTest, AHandlerThatLoopsWhileClosingHitsTheLimit) {
  for (const char* handler : {"while true do end", "while true do pcall(error) end",
                              "table.sort({3, 2, 1}, function() while true do end end)"}) {
    limit_instructions(300'000);
    lua_State* const coroutine =
        start("local h = {__close = function() " + std::string(handler) +
              " end} local a <close> = setmetatable({}, h) local b <close> = setmetatable({}, h) "
              "wait()");
    int results = 0;
    ASSERT_EQ(lua_->resume(coroutine, 0, &results), LuaOutcome::kSuspended);
    lua_->close(coroutine);
    EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit);
  }
}

TEST_F(LuaStateTest, AfterALimitVariablesAreNotClosed) {
  limit_instructions(300'000);
  lua_State* const coroutine = start(
      "local a <close> = setmetatable({}, {__close = function() while true do end end}) "
      "table.sort({3, 2, 1}, function() while true do end end)");
  ASSERT_EQ(finish(coroutine).outcome, LuaOutcome::kFailed);
  lua_->close(coroutine);
  EXPECT_EQ(lua_->forbidden_code(), kInstructionLimit);
}

}  // namespace
}  // namespace windrow::program
