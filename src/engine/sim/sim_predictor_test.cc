#include "engine/sim/sim_predictor.h"

#include <gtest/gtest.h>

namespace windrow::engine::sim {
namespace {

TEST(SimPredictorCalls, EachLineIsACall) {
  EXPECT_EQ(calls_asked_for("call now"),
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(calls_asked_for("call add {\"a\": 1} \r\n\ncall now\n"),
            "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(calls_asked_for("call add {no"),
            "<tool_call>\n{\"name\": \"add\", \"arguments\": {no}\n</tool_call>");
}

TEST(SimPredictorCalls, ArgumentsHaveTheBlanksThatCallsHave) {
  EXPECT_EQ(calls_asked_for(R"(call add {"a":1,"b" : [ "x:,\"", {} ]})"),
            "<tool_call>\n{\"name\": \"add\", \"arguments\": "
            R"({"a": 1, "b": ["x:,\"", {}]})"
            "}\n</tool_call>");
}

TEST(SimPredictorCalls, OtherMessagesAskForNone) {
  for (const char* message : {"", "calls", "please call now", "call now\nand wait"})
    EXPECT_EQ(calls_asked_for(message), "") << message;
}

}  // namespace
}  // namespace windrow::engine::sim
