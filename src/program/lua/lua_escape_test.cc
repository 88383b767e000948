// Programs that try to get out of the sandbox, to take more than their limits, or to reach another
// program. Each ends, and a state beside it stays as it was.
#include <gtest/gtest.h>

#include <array>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/manual_clock.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

constexpr size_t kMemoryMax = size_t{8} << 20;
constexpr int64_t kInstructionsMax = 3'000'000;

ProgramLimits narrow_limits() {
  ProgramLimits limits;
  limits.memory_bytes_max = kMemoryMax;
  limits.instructions_max = kInstructionsMax;
  return limits;
}

// The end of a program: what it returned or its error, and the limit that it hit.
struct ScriptEnd {
  bool has_returned = false;
  std::string text;
  std::string limit;
  int slices = 0;
};

ScriptEnd run_script(LuaState& lua, std::string_view source) {
  lua_State* coroutine = lua_newthread(lua.main());
  ScriptEnd end;
  if (const Result<void> loaded = lua.load(coroutine, source, "hostile.lua"); !loaded) {
    end.text = loaded.error().message;
    end.limit = lua.forbidden_code();
    return end;
  }
  int results = 0;
  LuaOutcome outcome = LuaOutcome::kSliced;
  // More slices than instructions allow would be a program that its limit does not end.
  for (; outcome == LuaOutcome::kSliced && end.slices < 1000; ++end.slices)
    outcome = lua.resume(coroutine, 0, &results);
  end.has_returned = outcome == LuaOutcome::kReturned;
  EXPECT_TRUE(end.has_returned || outcome == LuaOutcome::kFailed) << source;
  end.limit = lua.forbidden_code();
  if (results > 0 && lua_type(coroutine, -1) == LUA_TSTRING) end.text = lua_tostring(coroutine, -1);
  return end;
}

// What the program beside works on, and whether it still does.
constexpr std::string_view kNeighbour = R"(
  assert(("abc"):upper() == "ABC" and ("a,b"):find(",", 1, true) == 2 and "1" + 1 == 2)
  assert(type(getmetatable("")) ~= "table")
  assert(math.max(1, 2) == 2)
  assert(#table.pack(1, 2) == 2)
  assert(rawequal(string.format, ("").format) and leak == nil and _G.leak == nil)
  counter = (counter or 0) + 1
  return tostring(counter))";

class LuaEscape : public ::testing::Test {
 protected:
  LuaEscape() : neighbour_(narrow_limits(), clock_, nullptr) {
    EXPECT_EQ(run_script(neighbour_, kNeighbour).text, "1");
    bytes_ = neighbour_.bytes();
  }

  // Runs the program in a state of its own; then the neighbour is as before.
  ScriptEnd attack(std::string_view source) {
    SCOPED_TRACE(source);
    ScriptEnd end;
    {
      LuaState lua(narrow_limits(), clock_, nullptr);
      end = run_script(lua, source);
      EXPECT_LE(lua.bytes_peak(), kMemoryMax + (size_t{64} << 10));
    }
    EXPECT_EQ(neighbour_.bytes(), bytes_);
    LuaState after(narrow_limits(), clock_, nullptr);
    EXPECT_EQ(run_script(after, kNeighbour).text, "1");
    return end;
  }

  const testing::ManualClock clock_;
  LuaState neighbour_;
  size_t bytes_ = 0;
};

// Each returns "closed" when it has found no way.
TEST_F(LuaEscape, NoDoorIsOpen) {
  constexpr std::array kPrograms = {
      // Names that reach files, processes, code or other coroutines.
      R"(for _, name in ipairs{"io", "os", "package", "debug", "load", "loadstring", "dofile",
                             "loadfile", "collectgarbage", "coroutine", "require", "module", "warn",
                             "newproxy", "setfenv", "getfenv"} do
           if _G[name] ~= nil then return name end
         end
         if string.dump or math.random or math.randomseed then return "function" end
         return "closed")",
      // Whatever can be reached from the global table is harmless.
      R"(local seen, bad = {}, {}
         local names = {dump = 1, load = 1, open = 1, execute = 1, getregistry = 1, sethook = 1,
                        setupvalue = 1, loadlib = 1, popen = 1, getenv = 1, exit = 1}
         local function walk(value)
           if type(value) ~= "table" or seen[value] then return end
           seen[value] = true
           for key, inner in pairs(value) do
             if names[key] then bad[#bad + 1] = key end
             walk(key) walk(inner) walk(getmetatable(inner))
           end
         end
         walk(_G) walk(getmetatable("")) walk(getmetatable(print))
         return bad[1] or "closed")",
      // The metatable of strings is shared by all strings of a state.
      R"(if type(getmetatable("")) == "table" then return "readable" end
         if pcall(setmetatable, "", {}) then return "changed" end
         if pcall(function() getmetatable("").__index = nil end) then return "changed" end
         return "closed")",
      // Metatables of other basic types.
      R"(for _, value in ipairs{1, true, print, function() end} do
           if pcall(setmetatable, value, {}) then return type(value) end
           if getmetatable(value) ~= nil then return type(value) end
         end
         return "closed")",
      // Finalizers.
      R"(if pcall(setmetatable, {}, {__gc = function() leak = true end}) then return "gc" end
         local meta = {}
         setmetatable({}, meta)
         meta.__gc = function() leak = true end
         local object = setmetatable({}, setmetatable({}, {__index = {__gc = print}}))
         object = nil
         for i = 1, 2000 do local garbage = {i, {}} end
         return leak and "gc" or "closed")",
      // A protected metatable stays.
      R"(local kept = setmetatable({}, {__metatable = "mine"})
         return pcall(setmetatable, kept, {}) and "changed" or "closed")",
      // Compiled code. Nothing takes it.
      "return (load or loadstring or string.dump) and 'compiled' or 'closed'",
      // A function that the sandbox wraps does not hand out the one that it wraps.
      R"(local inner
         local ok = pcall(setmetatable, {}, setmetatable({}, {__index = function(_, key)
           inner = key end}))
         return inner and "asked" or "closed")",
      // Addresses of functions do not let one forge a value.
      R"(return type(tostring(print)) == "string" and tonumber(tostring(print)) == nil
         and "closed")",
  };
  for (const std::string_view program : kPrograms) {
    const ScriptEnd end = attack(program);
    EXPECT_TRUE(end.has_returned) << end.text << "\n" << program;
    EXPECT_EQ(end.text, "closed") << program;
  }
}

TEST_F(LuaEscape, CompiledLuaIsNotLoaded) {
  EXPECT_FALSE(attack("\x1bLua\x54").has_returned);
  EXPECT_FALSE(attack(std::string("\x1bLuaT\0\x19\x93\r\n\x1a\n", 12)).has_returned);
}

// Each ends at the limit of instructions.
TEST_F(LuaEscape, WhatDoesNotEndIsEnded) {
  constexpr std::array kPrograms = {
      "while true do end",
      "repeat until false",
      "::again:: goto again",
      "for i = 1, math.huge do end",
      "local function f() return f() end return f()",
      "while true do pcall(function() while true do end end) end",
      "while true do pcall(error) end",
      "while true do xpcall(function() while true do end end, function() while true do end end) "
      "end",
      "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) "
      "while true do pcall(function() return t[1] end) end",
      "local t = setmetatable({}, {__close = function() while true do end end}) "
      "do local x <close> = t end",
      "local t = setmetatable({}, {__close = function() while true do end end}) "
      "pcall(function() local x <close> = t error('go') end)",
      "local x <close> = setmetatable({}, {__close = function() while true do end end}) "
      "while true do end",
      "('x'):rep(10):gsub('.', function() while true do end end)",
      "table.sort({3, 2, 1}, function() while true do end end)",
      "pcall(table.sort, {3, 2, 1, 5, 4}, function() return true end) while true do end",
      "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
      "return setmetatable({}, {__eq = function() while true do end end}) == "
      "setmetatable({}, {})",
      "return setmetatable({}, {__lt = function() while true do end end}) < 1",
      "return setmetatable({}, {__concat = function() while true do end end}) .. 'a'",
      "return #setmetatable({}, {__len = function() while true do end end})",
      "setmetatable({}, {__newindex = function() while true do end end}).a = 1",
      "setmetatable({}, {__call = function() while true do end end})()",
      "for _ in pairs(setmetatable({}, {__pairs = function() while true do end end})) do end",
      "for _ in function() return 1 end do end",
      "while true do pcall(string.find, ('a'):rep(30), ('(.-)'):rep(20) .. 'b') end",
      "while true do pcall(string.gsub, ('a'):rep(30), ('a*'):rep(20) .. 'b', '') end",
      "local f = ('a'):rep(30):gmatch(('a*'):rep(20) .. 'b') while true do pcall(f) end",
      "local s = ('('):rep(100000) while true do pcall(string.match, s, '%b()') end",
      "local s = ('a'):rep(1000000) while true do s:find('b', 1, true) end",
      "local s = ('a'):rep(1000000) while true do s:upper() end",
      "while true do ('a'):rep(1000000) end",
      "local s = ('1'):rep(1000000) while true do tonumber(s) end",
      "local s = ('a'):rep(1000000) while true do utf8.len(s) end",
      "local t = {} for i = 1, 10000 do t[i] = 'x' end while true do table.concat(t) end",
      "local t = {} for i = 1, 8000 do t[i] = i end while true do table.unpack(t) end",
      "local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 0) "
      "table.remove(t, 1) end",
      "local t = {} for i = 1, 10000 do t[i] = i end while true do table.move(t, 1, 10000, 2) end",
      "local t = {} for i = 1, 10000 do t[i] = i end while true do table.sort(t) end",
      "local s = ('\\0'):rep(100000) local t = {s .. 1, s .. 2, s .. 3} "
      "while true do table.sort(t) end",
      "local s = ('\\0'):rep(100000) local a, b = s .. 1, s .. 2 local t = {} "
      "for i = 1, 10000 do t[i] = i % 2 == 0 and a or b end table.sort(t)",
      "local s = ('\\0'):rep(100000) local t = setmetatable({1, nil, nil, 4}, "
      "{__index = function(_, i) return s .. i end}) while true do pcall(table.sort, t) end",
      "local s, t = ('0'):rep(100000), {} for i = 1, 200 do t[i] = s end "
      "while true do string.char(table.unpack(t)) end",
      "local s, t = ('0'):rep(100000), {} for i = 1, 200 do t[i] = s end "
      "while true do utf8.char(table.unpack(t)) end",
      "local s, t = ('0'):rep(100000), {} for i = 1, 200 do t[i] = s end "
      "while true do math.max(table.unpack(t)) math.min(table.unpack(t)) end",
      "local s, t = ('0'):rep(100000), {} for i = 1, 200 do t[i] = s end "
      "while true do string.pack(('d'):rep(200), table.unpack(t)) end",
      "local s, t = ('0'):rep(100000), {} for i = 1, 200 do t[i] = s end "
      "while true do string.format(('%d'):rep(200), table.unpack(t)) end",
  };
  for (const std::string_view program : kPrograms) {
    const ScriptEnd end = attack(program);
    EXPECT_FALSE(end.has_returned) << program;
    EXPECT_EQ(end.limit, kInstructionLimit) << end.text << "\n" << program;
  }
}

// Each ends at the limit of memory, also where an error could be caught.
TEST_F(LuaEscape, WhatGrowsIsEnded) {
  constexpr std::array kPrograms = {
      "local s = 'x' while true do s = s .. s end",
      "local t = {} while true do t[#t + 1] = {} end",
      "local t = {} for i = 1, 1e9 do t[i] = i end",
      "return ('x'):rep(1e9)",
      "return ('x'):rep(1e6, ('y'):rep(100))",
      "return ('x'):rep(5e6):gsub('x', 'xxxxxxxxxxxxxxxx')",
      "return string.pack('c100000000', 'x')",
      "local s = ('x'):rep(1e6) local t = {} for i = 1, 100 do t[i] = s end return table.concat(t)",
      "local t = {} for i = 1, 100 do t[i] = function() return t, i, {} end end "
      "local function grow(n) t[#t + 1] = {n, t} return grow(n + 1) end return grow(1)",
      "local k = {} while true do k = {[k] = k, ('x'):rep(1000) .. tostring(k)} end",
  };
  for (const std::string_view program : kPrograms) {
    const ScriptEnd end = attack(program);
    EXPECT_FALSE(end.has_returned) << program;
    EXPECT_EQ(end.limit, kMemoryLimit) << end.text << "\n" << program;
  }
}

// Each would fill the stack within one instruction, or with many values, also where an error could
// be caught. The longest stack of Lua's own, a million values, takes minutes.
TEST_F(LuaEscape, WhatFillsTheStackIsEnded) {
  constexpr std::array kPrograms = {
      "local t = setmetatable({}, {}) getmetatable(t).__call = t t()",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t return t(1, 2, 3)",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t while true do pcall(t) end",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t while true do xpcall(t, type) "
      "end",
      "local a, b = setmetatable({}, {}), setmetatable({}, {}) "
      "getmetatable(a).__call = b getmetatable(b).__call = a return a()",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t "
      "return setmetatable({}, {__index = function(...) return t(...) end}).x",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t "
      "setmetatable({}, {__newindex = function(...) t(...) end}).x = 1",
      "local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t m.__eq = t "
      "return t == setmetatable({}, m)",
      "local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t m.__lt = t return t < "
      "t",
      "local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t m.__concat = t "
      "return t .. t",
      "local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t m.__close = t "
      "do local x <close> = t end",
      "local t = setmetatable({}, {}) local m = getmetatable(t) m.__call = t m.__close = t "
      "pcall(function() local x <close> = t error('go') end)",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t for _ in t do end",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t "
      "table.sort({3, 2, 1}, function(...) return t(...) end)",
      "local t = setmetatable({}, {}) getmetatable(t).__call = t "
      "return ('a'):gsub('a', function() return t() end)",
      "local function f() return 1 + f() end return f()",
      "local function f(...) return f(1, ...) end return f()",
      "local function f(...) return (f(1, 2, 3, 4, 5, 6, 7, 8, ...)) end while true do pcall(f) "
      "end",
      "local n = 0 local function f() n = n + 1 f() n = n - 1 end while true do pcall(f) end",
      "while true do pcall(string.byte, ('x'):rep(100000), 1, -1) end",
      "while true do pcall(utf8.codepoint, ('x'):rep(100000), 1, -1) end",
      "while true do pcall(string.unpack, ('b'):rep(100000), ('x'):rep(100000)) end",
  };
  for (const std::string_view program : kPrograms) {
    const ScriptEnd end = attack(program);
    EXPECT_FALSE(end.has_returned) << program;
    EXPECT_EQ(end.limit, kMemoryLimit) << end.text << "\n" << program;
    EXPECT_TRUE(end.text.starts_with("stack limit of 20480 values exceeded")) << end.text;
  }
}

TEST_F(LuaEscape, DeepRecursionAndManyValuesWithinTheLimitWork) {
  constexpr std::array kPrograms = {
      "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end "
      "for i = 1, 10 do assert(f(4000) == 4000) end",
      "local function f(n) if n == 0 then return 0 end local a, b, c = n, n, n "
      "return a - b + 1 + f(c - 1) end assert(f(2000) == 2000)",
      "local function f(n) if n > 0 then return f(n - 1) end return 7 end assert(f(100000) == 7)",
      "local t = {} for i = 1, 8000 do t[i] = i end "
      "for i = 1, 10 do assert(select('#', table.unpack(t)) == 8000) end "
      "assert(math.max(table.unpack(t)) == 8000) assert(#table.pack(table.unpack(t)) == 8000)",
      "local ok, text = pcall(table.unpack, {}, 1, 8001) "
      "assert(not ok and text:find('table.unpack: a range of 8001 is above the limit of 8000'))",
      "local f = print for i = 1, 50 do f = setmetatable({}, {__call = f}) end "
      "local ok = pcall(f) assert(not ok)",
      "local f = function(...) return select('#', ...) end "
      "for i = 1, 50 do f = setmetatable({}, {__call = f}) end assert(f(1) == 51)",
  };
  for (const std::string_view program : kPrograms) {
    const ScriptEnd end = attack(std::string(program) + " return 'works'");
    EXPECT_EQ(end.text, "works") << program;
  }
}

// Each is an error, or harmless: within bounds and without a crash, by whatever limit it ends.
TEST_F(LuaEscape, WhatIsMalformedOrDeepIsHarmless) {
  constexpr std::array kPrograms = {
      "local function f() return 1 + f() end return f()",
      "local t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(10000) .. #t end) end",
      "local function f() while true do pcall(f) end end f()",
      "local function f() return pcall(f) end return f()",
      "local function f(n) return ('a'):gsub('a', f) end return f()",
      "local function f() return tostring(setmetatable({}, {__tostring = f})) end return f()",
      "local m = {} m.__index = setmetatable({}, m) return m.__index.x",
      "local t = {} for i = 1, 200 do t = setmetatable({}, {__index = t}) end return t.x",
      "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
      "return ('%99999999d'):format(1)",
      "return ('%s'):rep(1000):format(1)",
      "return ('%.99f'):format(-1e308)",
      "return ('a'):find(('(') :rep(100000))",
      "return ('a'):rep(100000):find(('a?'):rep(100000))",
      "return ('a'):find('[' .. ('a'):rep(100000))",
      "return ('x'):rep(1e18)",
      "return ('').rep('', 1e18) .. 'done'",
      "return string.unpack('s8', ('\\255'):rep(8))",
      "return string.unpack('z', ('a'):rep(100))",
      "return string.unpack(('i16'):rep(100000), ('\\255'):rep(100))",
      "return string.packsize(('i8'):rep(1000000))",
      "return string.packsize('c2147483647c2147483647')",
      "return string.char(table.unpack({}, 1, 1e6))",
      "return select('#', table.unpack({}, 1, 1e7))",
      "return select('#', ('x'):rep(5e6):byte(1, -1))",
      "return select(-1, table.unpack({}, math.mininteger, math.maxinteger))",
      "return table.concat(setmetatable({}, {__len = function() return 1e15 end}))",
      "return table.concat({}, 'x', 1, 1e15)",
      "return table.move({}, 1, 1e15, 2)",
      "return table.insert({}, 1e15, 1)",
      "return table.remove(setmetatable({}, {__len = function() return 1e15 end}), 1)",
      "return table.sort(setmetatable({}, {__len = function() return 1e9 end}))",
      "return utf8.char(table.unpack({}, 1, 1e5))",
      "return utf8.codepoint(('x'):rep(5e6), 1, -1)",
      "return utf8.len('\\xff\\xfe')",
      "return next({}, 'absent')",
      "return rawset(_G, nil, 1)",
      "return rawset({}, 0/0, 1)",
      "return math.tointeger('x') // 0",
      "return 1 // 0",
      "return math.mininteger // -1, math.mininteger % -1",
      "return tostring(-0.0), 1 << 64, 1 >> -64",
      "error(setmetatable({}, {__tostring = function() error('again') end}))",
      "error(error)",
      "return error()",
      "_ENV = nil return print",
      "local _ENV = {} return x.y",
      "_G._G = nil _G.string = nil string = nil return ('x'):upper()",
      "string.find = nil string.rep = error return ('x'):upper()",
      "for name in pairs(_G) do _G[name] = nil end return 1",
      "setmetatable(_G, {__index = function(_, n) return n end, __newindex = error}) x = 1",
      "tostring = error error = nil pcall = nil return 1 .. {}",
      "local a <const> = 1 local b <close> = 5",
      "local t = {} t[t] = t setmetatable(t, t) t.__index = t return t.t.t",
      "return function() end, print, {}, nil, 0/0",
  };
  for (const std::string_view program : kPrograms)
    attack(program);
}

TEST_F(LuaEscape, SourcesAtTheEdgeOfTheCompilerAreErrors) {
  const auto repeated = [](std::string_view text, size_t count) {
    std::string whole;
    for (size_t i = 0; i < count; ++i)
      whole += text;
    return whole;
  };
  const std::vector<std::string> sources = {
      "return " + repeated("(", 100'000),
      "return " + repeated("{", 100'000),
      "return " + repeated("-", 100'000) + "1",
      "return " + repeated("not ", 100'000) + "1",
      "return 1" + repeated("^1", 100'000),
      "return 'a'" + repeated(" .. 'a'", 100'000),
      repeated("do ", 100'000),
      repeated("local a ", 300),
      "local a" + repeated(", a", 300) + " = 1",
      repeated("function f() ", 1000),
      "return '" + repeated("\\u{7FFFFFFF}", 10) + "'",
      "return '\\x",
      "return [" + repeated("=", 100'000) + "[",
      "return " + repeated("9", 100'000),
      "return 0x" + repeated("f", 100'000) + "p99999999999",
      "goto x " + repeated("do end ", 1000),
      repeated("a.", 100'000) + "b()",
      "x = {" + repeated("1,", 300'000) + "}",
      std::string("return \0", 8),
      std::string("\xff\xfe\0x", 4),
  };
  for (const std::string& source : sources) {
    LuaState lua(narrow_limits(), clock_, nullptr);
    run_script(lua, source);
    EXPECT_LE(lua.bytes_peak(), kMemoryMax + (size_t{64} << 10)) << source.substr(0, 40);
  }
}

}  // namespace
}  // namespace windrow::program
