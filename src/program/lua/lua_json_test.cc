#include "program/lua/lua_json.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/random.h"
#include "base/testing/manual_clock.h"
#include "json/writer.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

namespace json = boost::json;

class LuaJsonTest : public ::testing::Test {
 protected:
  LuaJsonTest() : lua_({}, clock_, nullptr) { open_json(lua_.main()); }

  // The first result of a source text, or its error as "error: ...".
  std::string run(const std::string& source) {
    lua_State* const state = lua_.main();
    lua_settop(state, 0);
    const Result<void> loaded = lua_.load(state, source, "t");
    if (!loaded) return loaded.error().message;
    const int status = lua_pcall(state, 0, 1, 0);
    const char* text = luaL_tolstring(state, -1, nullptr);
    return status == LUA_OK ? text : std::string("error: ") + text;
  }

  // The value of an expression as JSON of at most `bytes_max`, or why it is none.
  std::string convert(const std::string& expression, size_t bytes_max = 1 << 20) {
    lua_State* const state = lua_.main();
    lua_settop(state, 0);
    const Result<void> loaded = lua_.load(state, "return " + expression, "t");
    if (!loaded) return loaded.error().message;
    if (lua_pcall(state, 0, 1, 0) != LUA_OK) return lua_tostring(state, -1);
    const auto value = json_of_lua(state, -1, "result", bytes_max);
    EXPECT_EQ(lua_gettop(state), 1);
    if (const auto* fault = std::get_if<LuaJsonFault>(&value)) return fault->message;
    std::string text;
    append_compact_json(std::get<json::value>(value), text);
    return text;
  }

  const testing::ManualClock clock_;
  LuaState lua_;
};

TEST_F(LuaJsonTest, ValuesOfLuaBecomeJson) {
  EXPECT_EQ(convert("nil"), "null");
  EXPECT_EQ(convert("json.null"), "null");
  EXPECT_EQ(convert("true"), "true");
  EXPECT_EQ(convert("false"), "false");
  EXPECT_EQ(convert("42"), "42");
  EXPECT_EQ(convert("2.0"), "2.0");
  EXPECT_EQ(convert("0.1"), "0.1");
  EXPECT_EQ(convert("-0.0"), "-0.0");
  EXPECT_EQ(convert("1e300"), "1e+300");
  EXPECT_EQ(convert("math.maxinteger"), "9223372036854775807");
  EXPECT_EQ(convert("math.mininteger"), "-9223372036854775808");
  EXPECT_EQ(convert("'a\"\\n'"), R"("a\"\n")");
  EXPECT_EQ(convert("'\\0'"), R"("\u0000")");
  EXPECT_EQ(convert("{}"), "[]");
  EXPECT_EQ(convert("{1, {2}, 'x', json.null}"), R"([1,[2],"x",null])");
  EXPECT_EQ(convert("{[2] = 'b', [1] = 'a'}"), R"(["a","b"])");
  EXPECT_EQ(convert("{[1.0] = 'a'}"), R"(["a"])");
  EXPECT_EQ(convert("{z = 1, a = {b = true}, ['ä'] = 2}"), R"({"a":{"b":true},"z":1,"ä":2})");
}

TEST_F(LuaJsonTest, WhatIsNotJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(convert("print or type"), "result is a function, which JSON does not have");
  EXPECT_EQ(convert("{scores = {1, 2, type}}"),
            "result.scores[3] is a function, which JSON does not have");
  EXPECT_EQ(convert("{['a b'] = {[''] = type}}"),
            R"(result["a b"][""] is a function, which JSON does not have)");
  EXPECT_EQ(convert("{a = 0/0}"), "result.a is a number that is not finite");
  EXPECT_EQ(convert("1/0"), "result is a number that is not finite");
  EXPECT_EQ(convert("{'a', '\\xff'}"), "result[2] is a string that is not UTF-8");
  EXPECT_EQ(convert("{x = {['\\xff'] = 1}}"),
            "result.x[\"\xEF\xBF\xBD\"] has a name that is not UTF-8");
  EXPECT_EQ(convert("{1, a = 2}"), "result has keys that are strings and keys that are numbers");
  EXPECT_EQ(convert("{l = {[1] = 1, [3] = 3}}"),
            "result.l has 2 values with indexes from 1 to 3; those of a list are 1 to n");
  EXPECT_EQ(convert("{[0] = 1}"),
            "result has 1 values with indexes from 0 to 0; those of a list are 1 to n");
  EXPECT_EQ(convert("{[math.mininteger] = 1, [math.maxinteger] = 2}"),
            "result has 2 values with indexes from -9223372036854775808 to 9223372036854775807; "
            "those of a list are 1 to n");
  EXPECT_EQ(convert("{[true] = 1}"),
            "result has a key that is a boolean; keys are strings, or 1 to n");
  EXPECT_EQ(convert("{[1.5] = 1}"),
            "result has a key that is a number; keys are strings, or 1 to n");
  EXPECT_EQ(convert("{[{}] = 1}"), "result has a key that is a table; keys are strings, or 1 to n");
}

TEST_F(LuaJsonTest, CyclesAreRefusedAndSharedTablesAreWrittenTwice) {
  EXPECT_EQ(convert("(function() local t = {} t.a = {t} return t end)()"),
            "result.a[1] contains itself");
  EXPECT_EQ(convert("(function() local t = {1} return {a = t, b = {t, t}} end)()"),
            R"({"a":[1],"b":[[1],[1]]})");
}

TEST_F(LuaJsonTest, DepthIsLimited) {
  const std::string nest = "(function(n) local t = {} for i = 2, n do t = {t} end return t end)";
  EXPECT_EQ(convert(nest + "(100)"), std::string(100, '[') + std::string(100, ']'));
  EXPECT_EQ(convert(nest + "(101)"),
            "result[1][1][1][1][1][1]...[1][1][1][1][1][1] is nested more than 100 levels deep");
  EXPECT_TRUE(convert(nest + "(100000)").ends_with("is nested more than 100 levels deep"));
}

TEST_F(LuaJsonTest, ATreeOfSharedTablesEndsAtTheSize) {
  EXPECT_TRUE(convert("(function() local t = {} for i = 1, 90 do t = {t, t} end return t end)()")
                  .ends_with("is where the text exceeds 1048576 bytes; make it shorter"));
}

TEST_F(LuaJsonTest, TheSizeIsThatOfTheText) {
  for (const char* expression :
       {"nil", "true", "false", "12345", "-1.5", "2.0", "'text'",
        "'\\n\\1\\127\\\"\\\\/\\xc3\\xa4'", "{}", "{1, 2, 3}", "{a = 1, b = {}, c = {d = 'e'}}",
        "json.decode('{}')", "{json.null, {{}, {true}}}"}) {
    const std::string text = convert(expression);
    EXPECT_EQ(convert(expression, text.size()), text);
    EXPECT_TRUE(convert(expression, text.size() - 1).ends_with(" bytes; make it shorter"))
        << expression;
  }
}

TEST_F(LuaJsonTest, LongNamesAreCutInPlaces) {
  EXPECT_EQ(convert("{[('n'):rep(1000)] = type}"),
            "result[\"" + std::string(40, 'n') + "...\"] is a function, which JSON does not have");
}

TEST_F(LuaJsonTest, MetamethodsAreNotCalled) {
  EXPECT_EQ(convert("setmetatable({1, 2}, {__len = error, __index = error, __pairs = error, "
                    "__tostring = error, __name = 'x'})"),
            "[1,2]");
}

TEST_F(LuaJsonTest, JsonBecomesValuesOfLua) {
  EXPECT_EQ(run("return math.type(json.decode('2'))"), "integer");
  EXPECT_EQ(run("return math.type(json.decode('2.0'))"), "float");
  EXPECT_EQ(run("return json.decode('9223372036854775807')"), "9223372036854775807");
  EXPECT_EQ(run("return json.decode('-9223372036854775808')"), "-9223372036854775808");
  EXPECT_EQ(run("return json.decode('9223372036854775808')"), "9.2233720368548e+18");
  EXPECT_EQ(run("return json.decode('18446744073709551615')"), "1.844674407371e+19");
  EXPECT_EQ(run("return json.decode('null') == json.null"), "true");
  EXPECT_EQ(run("return json.decode('[1, null, 3]')[2] == json.null"), "true");
  EXPECT_EQ(run("return #json.decode('[1, null, 3]')"), "3");
  EXPECT_EQ(run("return json.decode(' {\"a\": {\"b\": [\"c\"]}} ').a.b[1]"), "c");
  EXPECT_EQ(run("return #json.decode('\"\\\\u0000x\"')"), "2");
  EXPECT_EQ(run("return json.decode('{\"a\":1,\"a\":2}').a"), "2");
}

TEST_F(LuaJsonTest, AnEmptyObjectStaysAnObject) {
  EXPECT_EQ(run("return json.encode(json.decode('{}'))"), "{}");
  EXPECT_EQ(run("return json.encode(json.decode('[{},[],{\"a\":{}}]'))"), R"([{},[],{"a":{}}])");
  EXPECT_EQ(run("local t = json.decode('{}') t.a = 1 return json.encode(t)"), R"({"a":1})");
  EXPECT_EQ(run("local t = json.decode('{}') t[1] = 1 return json.encode(t)"), "[1]");
  EXPECT_EQ(run("return getmetatable(json.decode('{}'))"), "object");
  EXPECT_EQ(run("return json.encode({json.object(), {}})"), "[{},[]]");
  EXPECT_EQ(run("local t = json.object() t.a = 1 return json.encode(t)"), R"({"a":1})");
  EXPECT_EQ(run("return json.object({})"),
            "error: t:1: json.object: it takes no arguments; add the members to its result");
}

TEST_F(LuaJsonTest, NullIsAValueOfItsOwn) {
  EXPECT_EQ(run("return tostring(json.null)"), "null");
  EXPECT_EQ(run("return type(json.null)"), "userdata");
  EXPECT_EQ(run("return getmetatable(json.null)"), "null");
  EXPECT_EQ(run("return json.null == nil"), "false");
  EXPECT_EQ(run("return json.null.x"),
            "error: t:1: attempt to index a userdata value (field 'null')");
}

TEST_F(LuaJsonTest, ErrorsOfEncodeAndDecodeSayWhere) {
  EXPECT_EQ(run("return json.encode({a = {type}})"),
            "error: t:1: json.encode: value.a[1] is a function, which JSON does not have");
  EXPECT_EQ(run("return json.decode('[1, 2')"),
            "error: t:1: json.decode: the text is not JSON at byte 6: incomplete JSON");
  EXPECT_EQ(run("return json.decode('[1,, 2]')"),
            "error: t:1: json.decode: the text is not JSON at byte 4: syntax error");
  EXPECT_EQ(run("json.decode()"),
            "error: t:1: bad argument #1 to 'decode' (string expected, got no value)");
  EXPECT_EQ(run("json.encode()"), "error: t:1: bad argument #1 to 'encode' (value expected)");
  EXPECT_EQ(run("json.decode(('['):rep(200) .. (']'):rep(200))").substr(0, 60),
            "error: t:1: json.decode: the text is not JSON at byte 129: t");
}

TEST_F(LuaJsonTest, TextsAreLimited) {
  EXPECT_EQ(run("json.decode('\"' .. ('x'):rep(17 << 20) .. '\"')"),
            "error: t:1: json.decode: the text is above the limit of 16777216 bytes and 2000000 "
            "values");
  EXPECT_EQ(run("json.decode('[' .. ('0,'):rep(3 << 20) .. '0]')"),
            "error: t:1: json.decode: the text is above the limit of 16777216 bytes and 2000000 "
            "values");
  EXPECT_EQ(run("json.encode({('x'):rep(17 << 20)})"),
            "error: t:1: json.encode: value[1] is where the text exceeds 16777216 bytes; make it "
            "shorter");
}

TEST_F(LuaJsonTest, AValueThatDoesNotFitIsAnErrorOfMemory) {
  ProgramLimits limits;
  limits.memory_bytes_max = 100'000;
  LuaState small(limits, clock_, nullptr);
  json::array list;
  for (int i = 0; i < 10'000; ++i)
    list.emplace_back("text " + std::to_string(i));
  const json::value value = std::move(list);
  lua_State* const state = small.main();
  lua_pushcfunction(state, [](lua_State* inner) {
    push_json(inner, *static_cast<const json::value*>(lua_touserdata(inner, 1)));
    return 1;
  });
  lua_pushlightuserdata(state, const_cast<json::value*>(&value));
  EXPECT_EQ(lua_pcall(state, 1, 1, 0), LUA_ERRMEM);
}

// --- random values ---

json::string random_text(Random& random) {
  std::string text;
  for (uint64_t i = random.below(8); i > 0; --i) {
    static constexpr std::string_view kPieces[] = {"a",    "Z",        "\"",
                                                   "\\",   "\n",       std::string_view("\0", 1),
                                                   "\x7f", "\xC3\xA4", "\xF0\x9F\x98\x80",
                                                   "/"};
    text += kPieces[random.below(std::size(kPieces))];
  }
  return json::string(text);
}

// What numbers a random value has. Boost's parser is right to the last bit for short ones only.
enum class Numbers : uint8_t { kAll, kShort };

json::value random_value(Random& random, int depth, Numbers numbers) {
  switch (random.below(depth > 0 ? 9 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random.chance(0.5);
    case 2:
      return static_cast<int64_t>(random.next());
    case 3:
      return random.between(-100, 100);
    case 4:
      if (numbers == Numbers::kShort) {
        return static_cast<double>(random.between(-1'000'000, 1'000'000)) / 64;
      }
      return random.unit() * std::pow(10.0, static_cast<double>(random.between(-20, 20)));
    case 5:
      return static_cast<double>(random.between(-10, 10));
    case 6:
      return random_text(random);
    case 7: {
      json::array list;
      for (uint64_t i = random.below(5); i > 0; --i)
        list.push_back(random_value(random, depth - 1, numbers));
      return list;
    }
    default: {
      json::object object;
      for (uint64_t i = random.below(5); i > 0; --i) {
        object.insert_or_assign(random_text(random), random_value(random, depth - 1, numbers));
      }
      return object;
    }
  }
}

TEST_F(LuaJsonTest, EveryJsonValueIsTheSameAfterLua) {
  constexpr uint64_t kSeed = 24;
  Random random(kSeed);
  lua_State* const state = lua_.main();
  for (int i = 0; i < 5'000; ++i) {
    const json::value value = random_value(random, 4, Numbers::kAll);
    lua_settop(state, 0);
    push_json(state, value);
    ASSERT_EQ(lua_gettop(state), 1);
    const auto back = json_of_lua(state, 1, "value", 1 << 20);
    ASSERT_TRUE(std::holds_alternative<json::value>(back)) << std::get<LuaJsonFault>(back).message;
    // Members come back sorted; objects are equal in any order.
    ASSERT_EQ(std::get<json::value>(back), value) << "seed " << kSeed << ", value " << i;
    std::string text;
    append_compact_json(std::get<json::value>(back), text);
    ASSERT_TRUE(std::holds_alternative<json::value>(json_of_lua(state, 1, "value", text.size())));
    ASSERT_TRUE(
        std::holds_alternative<LuaJsonFault>(json_of_lua(state, 1, "value", text.size() - 1)))
        << text;
  }
}

TEST_F(LuaJsonTest, EncodeGivesWhatDecodeWasGiven) {
  constexpr uint64_t kSeed = 25;
  Random random(kSeed);
  lua_State* const state = lua_.main();
  for (int i = 0; i < 2'000; ++i) {
    lua_settop(state, 0);
    push_json(state, random_value(random, 4, Numbers::kShort));
    std::string text;  // with its members in order
    append_compact_json(std::get<json::value>(json_of_lua(state, 1, "value", 1 << 20)), text);
    lua_getglobal(state, "json");
    lua_getfield(state, -1, "encode");
    lua_getfield(state, -2, "decode");
    lua_pushlstring(state, text.data(), text.size());
    ASSERT_EQ(lua_pcall(state, 1, 1, 0), LUA_OK) << lua_tostring(state, -1);
    ASSERT_EQ(lua_pcall(state, 1, 1, 0), LUA_OK) << lua_tostring(state, -1);
    ASSERT_EQ(lua_tostring(state, -1), text) << "seed " << kSeed << ", value " << i;
    lua_.set_instructions(0);
  }
}

}  // namespace
}  // namespace windrow::program
