#include "app/commands/session_text.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace windrow::app {
namespace {

namespace json = boost::json;

std::string list_text(std::string_view list) {
  const Result<std::string> text = session_list_text(json::parse(list), 10'000);
  return text ? *text : text.error().message;
}

std::string shown(std::string_view session, std::string_view summary = "") {
  const json::value value = summary.empty() ? json::value() : json::parse(summary);
  const Result<std::string> text =
      session_text(json::parse(session), summary.empty() ? nullptr : &value);
  return text ? *text : text.error().message;
}

constexpr std::string_view kList = R"({"sessions":[
  {"id":"0a","model":"qwen","owner":"","history":"linear","turns":12,"tokens":34567,"rollbacks":1,
   "in_flight":1,"bytes":1572864,"created_at":9000.5,"used_at":9990.0},
  {"id":"0b","model":"","owner":"","history":"tree","turns":0,"tokens":0,"rollbacks":0,
   "in_flight":0,"bytes":0,"created_at":9999.9,"used_at":9999.9}]})";

TEST(SessionListText, ALineForEach) {
  EXPECT_EQ(
      list_text(kList),
      "ID  MODEL  HISTORY  TURNS  TOKENS  ROLLBACKS  IN FLIGHT    MEMORY          AGE  UNUSED\n"
      "0a  qwen   linear      12  34,567          1          1  1.50 MiB  16 min 39 s    10 s\n"
      "0b  -      tree         0       0          0          0       0 B        0.0 s   0.0 s\n");
  EXPECT_EQ(list_text(R"({"sessions":[]})"), "there are no sessions\n");
}

TEST(SessionListText, OwnersAreShownWhereThereAreSome) {
  const std::string text =
      list_text(R"({"sessions":[{"id":"0a","owner":"ada"},{"id":"0b","owner":""}]})");
  EXPECT_NE(text.find("OWNER"), std::string::npos);
  EXPECT_NE(text.find("ada"), std::string::npos);
  EXPECT_EQ(list_text(kList).find("OWNER"), std::string::npos);
}

TEST(SessionListText, AnotherAnswerIsNoList) {
  for (const char* other : {"[]", "{}", R"({"sessions":3})", "null", R"({"data":[]})"}) {
    EXPECT_EQ(list_text(other),
              "the server's answer is not a list of sessions; is it a Windrow server? --json "
              "prints what it said")
        << other;
  }
  // Members that are absent or of another kind are nothing.
  EXPECT_NE(list_text(R"({"sessions":[3,{"id":7,"turns":"x","bytes":-1,"tokens":1e300}]})"), "");
}

TEST(SessionText, TurnsInALineStandBelowEachOther) {
  EXPECT_EQ(shown(R"({"session_id":"0a","records":[],"metadata":{
      "tito_session_mismatch":[],"accumulated_token_ids":[1,2,3],
      "tree":{"nodes":[
        {"id":0,"parent":null,"truncated":false,"completion_span":[1200,1300],
         "finish_reason":"stop"},
        {"id":1,"parent":0,"truncated":true,"completion_span":[1500,1900],
         "finish_reason":"length"}],"leaves":[]}}})",
                  R"({"id":"0a","model":"qwen","history":"linear","turns":2,"tokens":1900,
                      "rollbacks":1,"bytes":2048})"),
            "session 0a\n"
            "qwen, linear: 2 turns, 1,900 tokens, 1 rollback, 2.00 KiB\n"
            "\n"
            "  turn 0: prompt 1,200, sampled 100, stop\n"
            "  turn 1: prompt 1,500, sampled 400, length, cut\n"
            "\n"
            "no mismatches: the tokens are those of the chat template\n");
}

TEST(SessionText, BranchesOfATreeStandToTheRight) {
  EXPECT_EQ(shown(R"({"session_id":"0a","metadata":{"accumulated_token_ids":[1],"tree":{"nodes":[
        {"id":0,"parent":null,"completion_span":[10,11]},
        {"id":1,"parent":0,"completion_span":[20,22]},
        {"id":2,"parent":0,"completion_span":[21,24]},
        {"id":3,"parent":1,"completion_span":[30,34]},
        {"id":4,"parent":3,"completion_span":[40,45]}]}}})"),
            "session 0a\n"
            "1 token\n"
            "\n"
            "  turn 0: prompt 10, sampled 1\n"
            "  + turn 1: prompt 20, sampled 2\n"
            "    turn 3: prompt 30, sampled 4\n"
            "    turn 4: prompt 40, sampled 5\n"
            "  + turn 2: prompt 21, sampled 3\n");
}

TEST(SessionText, AThousandTurnsAreDrawnWithoutDepth) {
  json::array nodes;
  for (int i = 0; i < 5000; ++i) {
    json::object node{{"id", i}, {"completion_span", json::array{i, i + 1}}};
    if (i > 0) node["parent"] = i - 1;
    nodes.push_back(std::move(node));
  }
  const json::object session{{"session_id", "0a"},
                             {"metadata", {{"tree", {{"nodes", std::move(nodes)}}}}}};
  const Result<std::string> text = session_text(session, nullptr);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(std::ranges::count(*text, '\n'), 5002);
}

TEST(SessionText, ParentsThatAreNotThereMakeNoCircle) {
  const std::string text = shown(R"({"metadata":{"tree":{"nodes":[
        {"id":1,"parent":2,"completion_span":[1,2]},
        {"id":2,"parent":1,"completion_span":[1]},
        {"id":3,"parent":9},{"id":3,"parent":3},{"parent":"x"},7]}}})");
  EXPECT_NE(text.find("turn 1: prompt 1, sampled 1"), std::string::npos) << text;
  EXPECT_NE(text.find("turn 2: prompt 0, sampled 0"), std::string::npos) << text;
}

TEST(SessionText, MismatchesAreShownAndCounted) {
  EXPECT_EQ(shown(R"({"session_id":"0a","metadata":{"tito_session_mismatch":[
      {"type":"assistant_text","segment_index":3,"expected_text":"a\nb","actual_text":"a b",
       "detail":""},
      {"type":"special_token_count","segment_index":-1,"expected_text":"","actual_text":"",
       "detail":"expected 5, got 6"}]}})"),
            "session 0a\n"
            "\n"
            "2 mismatches with the tokens of the chat template\n"
            "  assistant_text in segment 3: expected \"a\\nb\", the session has \"a b\"\n"
            "  special_token_count: expected \"\", the session has \"\" (expected 5, got 6)\n");
}

TEST(SessionText, AnotherAnswerIsNoSession) {
  EXPECT_EQ(shown("[]"),
            "the server's answer is not a session; is it a Windrow server? --json prints what it "
            "said");
}

TEST(SessionIn, FindsTheLineOfAnId) {
  const json::value list = json::parse(kList);
  ASSERT_NE(session_in(list, "0b"), nullptr);
  EXPECT_EQ(session_in(list, "0b")->at("history"), "tree");
  EXPECT_EQ(session_in(list, "0c"), nullptr);
  EXPECT_EQ(session_in(json::value(3), "0c"), nullptr);
}

}  // namespace
}  // namespace windrow::app
