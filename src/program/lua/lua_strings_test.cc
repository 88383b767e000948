// The same calls are made in a program's state and in Lua with its own library.
#include "program/lua/lua_strings.h"

#include <gtest/gtest.h>

#include <array>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// Makes the call that its arguments say and returns what came of it as text.
constexpr std::string_view kCall = R"lua(
local name, subject, pattern, third, fourth = ...
local function show(...)
  local shown = table.pack(...)
  for i = 1, shown.n do shown[i] = math.type(shown[i]) or type(shown[i]) .. tostring(shown[i]) end
  for i = 1, shown.n do shown[i] = shown[i] .. tostring((select(i, ...))) end
  return table.concat(shown, ",", 1, shown.n)
end
local replacements = {
  __table = {a = "A", b = false, ["1"] = 2.5, c = true, [1] = "first", aa = 7},
  __call = function(first, second)
    if first == "b" then return nil end
    if first == "c" then return {} end
    return show(first, second)
  end,
  __error = function(first) error("told: " .. tostring(first)) end,
}
third = replacements[third] or third
return select(2, pcall(function()
  if name == "find" then return show(string.find(subject, pattern, third, fourth)) end
  if name == "match" then return show(string.match(subject, pattern, third)) end
  if name == "gsub" then return show(string.gsub(subject, pattern, third, fourth)) end
  if name == "rep" then return show(string.rep(subject, pattern, third)) end
  local all = {}
  for first, second, third in string.gmatch(subject, pattern, third) do
    all[#all + 1] = show(first, second, third)
  end
  return table.concat(all, ";")
end))
)lua";

void push(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
}
void push(lua_State* state, int64_t number) {
  lua_pushinteger(state, number);
}

// Calls the function on top of the stack; its first result, or the error, as text.
template <class... Arguments>
std::string call_top(lua_State* state, const Arguments&... arguments) {
  (push(state, arguments), ...);
  const int status = lua_pcall(state, sizeof...(arguments), 1, 0);
  size_t size = 0;
  const char* text = luaL_tolstring(state, -1, &size);
  std::string end = (status == LUA_OK ? "" : "error: ") + std::string(text, size);
  lua_pop(state, 2);
  return end;
}

template <class... Arguments>
std::string run(lua_State* state, std::string_view source, const Arguments&... arguments) {
  const int status = luaL_loadbufferx(state, source.data(), source.size(), "=chunk", "t");
  EXPECT_EQ(status, LUA_OK) << lua_tostring(state, -1);
  return call_top(state, arguments...);
}

class LuaStrings : public ::testing::Test {
 protected:
  LuaStrings() : program_(limits(), clock_, nullptr), lua_(luaL_newstate(), lua_close) {
    luaL_openlibs(lua_.get());
    for (lua_State* state : {lua_.get(), program_.main()}) {
      luaL_loadbufferx(state, kCall.data(), kCall.size(), "=chunk", "t");
      lua_setfield(state, LUA_REGISTRYINDEX, "call");
    }
  }

  static ProgramLimits limits() {
    ProgramLimits limits;
    limits.instructions_max = int64_t{1} << 40;
    return limits;
  }

  template <class... Arguments>
  std::string run_program(std::string_view source, const Arguments&... arguments) {
    return run(program_.main(), source, arguments...);
  }

  // Expects the same of both, and returns it.
  template <class... Arguments>
  std::string call(const Arguments&... arguments) {
    lua_getfield(lua_.get(), LUA_REGISTRYINDEX, "call");
    std::string expected = call_top(lua_.get(), arguments...);
    lua_getfield(program_.main(), LUA_REGISTRYINDEX, "call");
    EXPECT_EQ(call_top(program_.main(), arguments...), expected);
    return expected;
  }

  const testing::ManualClock clock_;
  LuaState program_;
  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
};

// From memory of the test suite of Lua 5.4 (pm.lua), which is under the licence of Lua.
constexpr std::string_view kPatternSuite = R"lua(
local function fails(text, ...)
  local ok, message = pcall(...)
  assert(not ok and string.find(message, text, 1, true), message)
end
local function f(s, p)
  local i, e = string.find(s, p)
  if i then return string.sub(s, i, e) end
end
local a, b = string.find('', '')
assert(a == 1 and b == 0)
a, b = string.find('alo', '')
assert(a == 1 and b == 0)
a, b = string.find('a\0o a\0o a\0o', 'a', 1)
assert(a == 1 and b == 1)
a, b = string.find('a\0o a\0o a\0o', 'a\0o', 2)
assert(a == 5 and b == 7)
a, b = string.find('a\0o a\0o a\0o', 'a\0o', 9)
assert(a == 9 and b == 11)
a, b = string.find('a\0a\0a\0a\0\0ab', '\0ab', 2)
assert(a == 9 and b == 11)
a, b = string.find('a\0a\0a\0a\0\0ab', 'b')
assert(a == 11 and b == 11)
assert(not string.find('a\0a\0a\0a\0\0ab', 'b\0'))
assert(not string.find('', '\0'))
assert(string.find('alo123alo', '12') == 4)
assert(not string.find('alo123alo', '^12'))
assert(string.match("aaab", ".*b") == "aaab")
assert(string.match("aaa", ".*a") == "aaa")
assert(string.match("aaab", ".-b") == "aaab")
assert(string.find("", "", 1) == 1 and not string.find("", "", 2) and string.find("", "", 0) == 1)
assert(string.find("abc", "", 10) == nil and string.find("abc", "b", -1) == nil)
assert(string.find("abc", "b", -20) == 2 and string.find("alo(.)alo", "(.)", 1, true) == 4)
assert(string.find("123456789", "345") == 3)
assert(f('aloALO', '%l*') == 'alo' and f('aLo_ALO', '%a*') == 'aLo')
assert(f("  \n\r*&\n\r   xuxu  \n\n", "%g%g%g+") == "xuxu")
assert(string.match("alo xyzK", "(%w+)K") == "xyz")
assert(string.match("254 K", "(%d*)K") == "")
assert(string.match("alo ", "(%w*)$") == "")
assert(not string.find("alo wo", "(%w+)%d"))
assert(string.match("0123456789", "(.+(.?)())") == "0123456789")
assert(string.gsub('ülo ülo', 'ü', 'x') == 'xlo xlo')
assert(string.gsub('alo úlo  ', ' +$', '') == 'alo úlo')
assert(string.gsub('  alo alo  ', '^%s*(.-)%s*$', '%1') == 'alo alo')
assert(string.gsub('alo  alo  \n 123\n ', '%s+', ' ') == 'alo alo 123 ')
assert(string.gsub('abç d', '(.)', '%1@') == 'a@b@\xc3@\xa7@ @d@')
assert(string.gsub('abçd', '(.)', '%0@', 2) == 'a@b@çd')
assert(string.gsub('alo alo', '()[al]', '%1') == '12o 56o')
assert(string.gsub("abc=xyz", "(%w*)(%p)(%w+)", "%3%2%1-%0") == "xyz=abc-abc=xyz")
assert(string.gsub("abc", "%w", "%1%0") == "aabbcc")
assert(string.gsub("abc", "%w+", "%0%1") == "abcabc")
assert(string.gsub('áéí', '$', '\0óú') == 'áéí\0óú')
assert(string.gsub('', '^', 'r') == 'r' and string.gsub('', '$', 'r') == 'r')
assert(string.gsub("um (dois) tres (quatro)", "(%(%w+%))", string.upper) ==
       "um (DOIS) tres (QUATRO)")
assert(string.gsub("trocar tudo em |teste|b| é |beleza|al|", "|([^|]*)|([^|]*)|",
                   function(x, y) return x .. y end) == "trocar tudo em testeb é belezaal")
local n = 0
assert(string.gsub("a b cd", " *", "-") == "-a-b-c-d-")
local t = {apple = "x", orange = "y"}
assert(string.gsub("#apple# #orange# #none#", "#(%w+)#", t) == "x y #none#")
local function isbalanced(s) return not string.find(string.gsub(s, "%b()", ""), "[()]") end
assert(isbalanced("(9 ((8))(\0) 7) \0\0 a b ()(c)() a"))
assert(not isbalanced("(9 ((8) 7) a b (\0 c) a") and not isbalanced("alo 'oi' (a"))
assert(string.gsub("alo 'oi' alo", "%b''", '"') == 'alo " alo')
t = {"apple", "orange", "lime", n = 0}
assert(string.gsub("x and x and x", "x", function() t.n = t.n + 1; return t[t.n] end)
       == "apple and orange and lime")
t = {n = 0}
string.gsub("first second word", "%w%w*", function(w) t.n = t.n + 1; t[t.n] = w end)
assert(t[1] == "first" and t[2] == "second" and t[3] == "word" and t.n == 3)
assert(not pcall(string.gsub, "alo", "(.", print))
fails("invalid replacement value (a table)", string.gsub, "alo", ".", function() return {} end)
fails("invalid capture index %2", string.gsub, "alo", ".", "%2")
fails("invalid capture index %0", string.gsub, "alo", "(%0)", "a")
fails("invalid capture index %1", string.gsub, "alo", "(%1)", "a")
fails("invalid use of '%'", string.gsub, "alo", ".", "%x")
local function rev(s) return string.gsub(s, "(.)(.+)", function(c, s1) return rev(s1) .. c end) end
rev = function(s)
  return (string.gsub(s, "(.)(.+)", function(c, s1) return rev(s1) .. c end))
end
assert(rev(rev("abcdef")) == "abcdef" and rev("abc") == "cba")
assert(string.gsub("alo alo", ".", {}) == "alo alo")
assert(string.gsub("alo alo", "(.)", {a = "AA", l = ""}) == "AAo AAo")
assert(string.gsub("alo alo", "(.).", {a = "AA", l = "K"}) == "AAo AAo")
assert(string.gsub("alo alo", "((.)(.?))", {al = "AA", o = false}) == "AAo AAo")
assert(string.gsub("alo alo", "().", {'x', 'yy', 'zzz'}) == "xyyzzz alo")
t = {}; setmetatable(t, {__index = function(_, s) return string.upper(s) end})
assert(string.gsub("a alo b hi", "%w%w+", t) == "a ALO b HI")
t = {}
for w in string.gmatch("first second word", "%w+") do t[#t + 1] = w end
assert(table.concat(t, ",") == "first,second,word")
t = {3, 6, 9}
for i in string.gmatch("xuxx uu ppar r", "()(.)%2") do assert(i == table.remove(t, 1)) end
assert(#t == 0)
local pos = 0
for k, v in string.gmatch("13 14 10 = 11, 15= 16, 22=23", "(%d+)%s*=%s*(%d+)") do
  pos = pos + 1; assert(tonumber(k) + 1 == tonumber(v))
end
assert(pos == 3)
t = {}
for k in string.gmatch("xyz", "") do t[#t + 1] = k end
assert(#t == 4)
for i = 0, 5 do
  local s = 0
  for k in string.gmatch("10 20 30", "%d+", 3) do s = s + tonumber(k) end
  assert(s == 50)
end
do local s = 0
  for k in string.gmatch("11 21 31", "%d+", -4) do s = s + tonumber(k) end
  assert(s == 32)
  for k in string.gmatch("11 21 31", "%w*", 9) do s = s + 1 end
  assert(s == 33)
  for k in string.gmatch("11 21 31", "%w*", 10) do s = s + 1 end
  assert(s == 33)
end
assert(string.gsub("aaa aa a aaa a", "%f[%w]%a", "x") == "xaa xa x xaa x")
assert(string.gsub("[[]] [][] [[[[", "%f[[].", "x") == "x[]] x]x] x[[[")
assert(string.gsub("01abc45de3", "%f[%d]", ".") == ".01abc.45de.3")
assert(string.gsub("01abc45 de3x", "%f[%D]%w", ".") == "01.bc45 de3.")
assert(string.gsub("function", "%f[\1-\255]%w", ".") == ".unction")
assert(string.gsub("function", "%f[^\1-\255]", ".") == "function.")
assert(string.find("a", "%f[a]") == 1 and string.find("a", "%f[^%z]") == 1)
assert(string.find("a", "%f[^%l]") == 2 and string.find("aba", "%f[a%z]") == 3)
assert(string.find("aba", "%f[%z]") == 4 and not string.find("aba", "%f[%l%z]"))
assert(not string.find("aba", "%f[^%l%z]"))
local function malform(p, m)
  m = m or "malformed"
  fails(m, string.find, "a", p)
end
malform("(.", "unfinished capture"); malform(".)", "invalid pattern capture")
malform("[a"); malform("[]"); malform("[^]"); malform("[a%]"); malform("[a%")
malform("%b"); malform("%ba"); malform("%"); malform("%f", "missing")
assert(string.match("ab\0\1\2c", "[\0-\2]+") == "\0\1\2")
assert(string.match("ab\0\1\2c", "[\0-\0]+") == "\0")
assert(string.find("b$a", "$\0?") == 2 and string.find("abc\0efg", "%\0") == 4)
assert(string.match("abc\0efg\0\1e\1g", "%b\0\1") == "\0efg\0\1e\1")
assert(string.match("abc\0\0\0", "%\0+") == "\0\0\0")
assert(string.match("abc\0\0\0", "%\0%\0?") == "\0\0")
assert(string.find("abc\0\0", "\0.") == 4 and string.find("abcx\0\0abc\0abc", "x\0\0abc\0a.") == 4)
local r = string.rep
fails("too complex", string.find, r("a", 220000), r("a?", 220000) .. "b")
fails("too many captures", string.find, "a", r("()", 33) .. ".")
assert(string.find(r("a", 1000), ".-b") == nil)  -- Lua tries 10,000: too long here
assert("2" + 1 == 3 and "10" * "2" == 20 and -"2" == -2 and "0x10" + 0 == 16)
assert(("x"):rep(3, ",") == "x,x,x" and ("%s|%5.2f|%q"):format("a", 1.5, "\n") == 'a| 1.50|"\\\n"')
assert(string.unpack("<i4", string.pack("<i4", 77)) == 77)
return "all"
)lua";

TEST_F(LuaStrings, LuasOwnTestsPass) {
  EXPECT_EQ(run(lua_.get(), kPatternSuite), "all");
  EXPECT_EQ(run_program(kPatternSuite), "all");
}

std::string random_text(Random& random, std::string_view characters, uint64_t size_max) {
  std::string text;
  const uint64_t size = random.below(size_max + 1);
  for (uint64_t i = 0; i < size; ++i)
    text += characters[random.below(characters.size())];
  return text;
}

std::string random_pattern(Random& random) {
  constexpr std::array<std::string_view, 24> kPieces = {
      "a",  "b",  ".",  "%a", "%d", "%w",   "[ab]",   "[^a]", "(",  "(",  ")", ")",
      "()", "%1", "%%", "^",  "$",  "%b()", "%f[%w]", "c",    "aa", "%s", "[", "%"};
  std::string pattern;
  const uint64_t pieces = random.below(7);
  for (uint64_t i = 0; i < pieces; ++i) {
    pattern += kPieces[random.below(kPieces.size())];
    if (random.chance(0.35)) pattern += "*+-?"[random.below(4)];
  }
  return pattern;
}

TEST_F(LuaStrings, RandomCallsAreAsInLua) {
  constexpr uint64_t kSeed = 240611;
  SCOPED_TRACE(kSeed);
  Random random(kSeed);
  constexpr std::array<std::string_view, 5> kReplacements = {"__table", "__call", "__error", "<%0>",
                                                             "%1%2%%"};
  for (int i = 0; i < 4000 && !HasFailure(); ++i) {
    const std::string subject = random_text(random, "aab1c ()", 12);
    const std::string pattern = random_pattern(random);
    SCOPED_TRACE(subject + " and " + pattern);
    const int64_t begin = random.between(-15, 15);
    call("find", subject, pattern, begin);
    call("find", subject, pattern, begin, int64_t{1});
    call("match", subject, pattern, begin);
    call("gmatch", subject, pattern, begin);
    const std::string replacement = random.chance(0.5) ? std::string(kReplacements[random.below(5)])
                                                       : random_text(random, "x%01299", 5);
    call("gsub", subject, pattern, replacement);
    call("gsub", subject, pattern, replacement, random.between(-1, 4));
    call("rep", subject, random.between(-2, 9), random_text(random, "x,", 3));
  }
}

TEST_F(LuaStrings, ArgumentsAreCheckedAsInLua) {
  for (const std::string_view name : {"find", "match", "gmatch", "gsub", "rep"}) {
    call(name);
    call(name, "a");
    call(name, "a", "a");
    call(name, "a", "a", "x", "y");
    call(name, int64_t{121}, int64_t{1});
    call(name, int64_t{121}, int64_t{2}, int64_t{1});
    call(name, "a", "a", int64_t{0});
  }
  constexpr std::array kNumbers = {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1};
  for (const int64_t number : kNumbers) {
    for (const std::string_view name : {"find", "match", "gmatch", "gsub"}) {
      call(name, "aba", "a()", number);
      call(name, "aba", "a", number);
    }
    call("gsub", "aba", "a", "x", number);
  }
  EXPECT_EQ(call("rep", "ab", INT64_MAX), "chunk:23: resulting string too large");
  call("rep", "ab", INT64_MIN);
  call("rep", "", int64_t{7}, "ab");
}

TEST_F(LuaStrings, AnEmptyTextIsRepeatedAtOnce) {
  EXPECT_EQ(run_program("return '[' .. ('').rep('', math.maxinteger) .. ']'"), "[]");
  EXPECT_EQ(run_program("return ('').rep('', 1e18, '')"), "");
}

TEST_F(LuaStrings, ALongPatternIsAnError) {
  constexpr std::string_view kProgram = R"(
    local name, third = ...
    local ok, message = pcall(function()
      local subject, pattern = ('a'):rep(30) .. 'b', ('(.-)'):rep(20) .. 'c'
      if name == 'gmatch' then for _ in subject:gmatch(pattern) do end end
      return string[name](subject, pattern, third)
    end)
    return message)";
  for (const std::string_view name : {"find", "match", "gmatch"}) {
    const std::string message = run_program(kProgram, name);
    EXPECT_EQ(message.substr(message.find("string.")),
              "string." + std::string(name) +
                  ": the pattern takes too long (more than 2000496 steps); use a simpler one");
  }
  const std::string message = run_program(kProgram, "gsub", "x");
  EXPECT_NE(message.find("string.gsub: the pattern takes too long"), std::string::npos) << message;
}

TEST_F(LuaStrings, ALongTextIsReadOnce) {
  EXPECT_EQ(run_program(R"(
    local text = ('key = value;\n'):rep(100000)
    local replaced, count = text:gsub('(%w+)%s*=%s*(%w+)', '%2=%1')
    local lines = 0
    for line in text:gmatch('[^\n]+') do lines = lines + 1 end
    local doubled = text:gsub('.', function(c) return c .. c end)
    return count .. ' ' .. lines .. ' ' .. #replaced .. ' ' .. #doubled .. ' ' ..
        tostring(text:find('no such')) .. ' ' .. tostring(text:match('^%s*(.-)%s*$') ~= nil))"),
            "100000 100000 1100000 2600000 nil true");
}

TEST_F(LuaStrings, StepsCountAsInstructions) {
  ProgramLimits limits;
  limits.instructions_max = 5'000'000;
  const testing::ManualClock clock;
  LuaState program(limits, clock, nullptr);
  lua_State* coroutine = lua_newthread(program.main());
  ASSERT_TRUE(program.load(coroutine, R"(
    local subject, pattern = ('a'):rep(30) .. 'b', ('(.-)'):rep(20) .. 'c'
    while true do pcall(string.find, subject, pattern) end)",
                           "test.lua"));
  int results = 0;
  int slices = 0;
  LuaOutcome outcome = LuaOutcome::kSliced;
  for (; outcome == LuaOutcome::kSliced; ++slices)
    outcome = program.resume(coroutine, 0, &results);
  EXPECT_EQ(outcome, LuaOutcome::kFailed);
  EXPECT_EQ(program.forbidden_code(), kInstructionLimit);
  // Each call costs 500,000: others get their turn after each.
  EXPECT_GE(slices, 9);
  EXPECT_LE(slices, 12);
}

TEST_F(LuaStrings, AReplacementMustNotWait) {
  lua_register(program_.main(), "wait", [](lua_State* state) { return lua_yield(state, 0); });
  lua_State* coroutine = lua_newthread(program_.main());
  ASSERT_TRUE(program_.load(coroutine, "return ('a'):gsub('a', wait)", "test.lua"));
  int results = 0;
  EXPECT_EQ(program_.resume(coroutine, 0, &results), LuaOutcome::kFailed);
  EXPECT_STREQ(lua_tostring(coroutine, -1), "attempt to yield across a C-call boundary");
}

TEST_F(LuaStrings, AReplacementMayThrowIntoPcall) {
  EXPECT_EQ(run_program(R"(
    local depth = 0
    local function nest(c)
      depth = depth + 1
      if depth == 20 then error('deep', 0) end
      return ('a'):gsub('a', nest)
    end
    local ok, message = pcall(nest)
    return message .. depth)"),
            "deep20");
}

TEST_F(LuaStrings, TheMetatableOfStringsIsClosed) {
  EXPECT_EQ(run_program("return type(getmetatable(''))"), "string");
  EXPECT_EQ(run_program("return select(2, pcall(setmetatable, '', {}))").substr(0, 15),
            "bad argument #1");
  EXPECT_EQ(run_program("return string.dump"), "nil");
  EXPECT_EQ(run_program("return ('x').find == string.find"), "true");
}

TEST_F(LuaStrings, OnlyTheFunctionsOfLuaAreThere) {
  EXPECT_EQ(
      run_program(R"(
    local names = {}
    for name in pairs(string) do names[#names + 1] = name end
    table.sort(names)
    return table.concat(names, ' '))"),
      "byte char find format gmatch gsub len lower match pack packsize rep reverse sub unpack "
      "upper");
}

}  // namespace
}  // namespace windrow::program
