#include "chat/message_form.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string_view>

namespace windrow::chat {
namespace {

namespace json = boost::json;

json::array call(std::string_view content, std::string_view arguments) {
  const std::string text = R"([{"role":"assistant","content":)" + std::string(content) +
                           R"(,"tool_calls":[{"function":{"name":"f","arguments":)" +
                           std::string(arguments) + "}}]}]";
  return json::parse(text).as_array();
}

TEST(MessageForm, OnlyCallsHaveMoreThanOne) {
  EXPECT_EQ(forms_of(json::parse(R"([{"role":"user","content":""}])").as_array()).size(), 1U);
  EXPECT_EQ(forms_of(call("null", "{}")).size(), 4U);
}

// Two calls, whose results come in the other order.
json::array two_calls() {
  return json::parse(R"([{"role":"assistant","content":"Hm.","reasoning_content":"r","tool_calls":[
      {"id":"call_A","function":{"name":"f","arguments":{}}},
      {"id":"call_B","function":{"name":"g","arguments":{}}}]},
      {"role":"tool","content":"b","tool_call_id":"call_B"},
      {"role":"tool","content":"a","tool_call_id":"call_A"},
      {"role":"tool","content":"c","tool_call_id":"call_C"},
      {"role":"user","content":"u"}])")
      .as_array();
}

TEST(MessageForm, LongIdsAndSeveralCallsHaveMore) {
  EXPECT_EQ(forms_of(two_calls()).size(), 16U);
  const json::array result = {{{"role", "tool"}, {"content", ""}, {"tool_call_id", "abc123DEF"}}};
  EXPECT_EQ(forms_of(result).size(), 1U);
  const json::array long_id = {{{"role", "tool"}, {"content", ""}, {"tool_call_id", "call_A"}}};
  EXPECT_EQ(forms_of(long_id).size(), 2U);
}

TEST(MessageForm, IdsAreShortenedAlikeInCallsAndResults) {
  const json::array formed = in_form(two_calls(), {.short_ids = true});
  EXPECT_EQ(formed[0].at("tool_calls").at(0).at("id"), "call00000");
  EXPECT_EQ(formed[0].at("tool_calls").at(1).at("id"), "call00001");
  EXPECT_EQ(formed[1].at("tool_call_id"), "call00001");
  EXPECT_EQ(formed[2].at("tool_call_id"), "call00000");
  EXPECT_EQ(formed[3].at("tool_call_id"), "call00002");
}

TEST(MessageForm, CallsArePartedAndEachHasItsResultBehindIt) {
  EXPECT_EQ(in_form(two_calls(), {.one_call_each = true}), json::parse(R"([
      {"role":"assistant","content":"Hm.","reasoning_content":"r","tool_calls":[
       {"id":"call_A","function":{"name":"f","arguments":{}}}]},
      {"role":"tool","content":"a","tool_call_id":"call_A"},
      {"role":"assistant","content":"","tool_calls":[
       {"id":"call_B","function":{"name":"g","arguments":{}}}]},
      {"role":"tool","content":"b","tool_call_id":"call_B"},
      {"role":"tool","content":"c","tool_call_id":"call_C"},
      {"role":"user","content":"u"}])"));
}

TEST(MessageForm, TextAndObjectStandForEachOther) {
  EXPECT_EQ(in_form(call(R"("x")", R"("{\"a\":1}")"), {}), call(R"("x")", R"({"a":1})"));
  EXPECT_EQ(in_form(call(R"("x")", R"({"a":1.5,"b":[true,null]})"), {.arguments_as_text = true}),
            call(R"("x")", R"("{\"a\": 1.5, \"b\": [true, null]}")"));
  EXPECT_EQ(in_form(call(R"("x")", R"("{ \"a\":1 }")"), {.arguments_as_text = true}),
            call(R"("x")", R"("{ \"a\":1 }")"))
      << "as it was written";
}

TEST(MessageForm, ContentThatIsNotThere) {
  EXPECT_EQ(in_form(call("null", "{}"), {}), call(R"("")", "{}"));
  EXPECT_EQ(in_form(call(R"("")", "{}"), {.content_as_null = true}), call("null", "{}"));
  EXPECT_EQ(in_form(call(R"("x")", "{}"), {.content_as_null = true}), call(R"("x")", "{}"));
  const json::array empty = {{{"role", "user"}, {"content", ""}}};
  EXPECT_EQ(in_form(empty, {.content_as_null = true}), empty) << "where nothing is called";
}

TEST(MessageForm, NamesStandInFrontOfWhatIsSaid) {
  const json::array given = json::parse(R"([{"role":"system","name":"rules","content":"s"},
      {"role":"user","name":"ann","content":"hi"},{"role":"user","name":" ","content":"x"},
      {"role":"assistant","name":"planner","content":"a"},
      {"role":"tool","name":"f","content":"1","tool_call_id":"abc123DEF"}])")
                                .as_array();
  EXPECT_EQ(forms_of(given).size(), 2U);
  EXPECT_EQ(in_form(given, {}), given);
  EXPECT_EQ(in_form(given, {.names_in_content = true}),
            json::parse(R"([{"role":"system","content":"rules: s"},
      {"role":"user","content":"ann: hi"},{"role":"user","name":" ","content":"x"},
      {"role":"assistant","name":"planner","content":"a"},
      {"role":"tool","name":"f","content":"1","tool_call_id":"abc123DEF"}])"));
}

TEST(MessageForm, DeepArgumentsAreStillArguments) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const json::array given = call("null", R"("{\"a\":)" + deep + R"(}")");
  const json::array formed = in_form(given, {});
  EXPECT_TRUE(formed[0].at("tool_calls").at(0).at("function").at("arguments").is_object());
}

}  // namespace
}  // namespace windrow::chat
