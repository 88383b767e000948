// Tools as clients have them, from a server without a model: calls whole and streamed, and their
// results; and the same from a file of requests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;

constexpr std::string_view kTools =
    R"("tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"now"}}])";

json::array calls_in(const json::value& message) {
  const json::value* calls = message.as_object().if_contains("tool_calls");
  return calls == nullptr ? json::array() : calls->as_array();
}

// The message that the deltas of a stream add up to.
json::object message_in(std::string_view events) {
  json::object message{{"role", "assistant"}, {"content", ""}, {"tool_calls", json::array()}};
  json::array& calls = message["tool_calls"].as_array();
  while (events.starts_with("data: {")) {
    const size_t end = events.find("\n\n");
    const json::value event = json::parse(events.substr(6, end - 6));
    events.remove_prefix(end + 2);
    const json::value& choice = event.at("choices").at(0);
    if (!choice.at("finish_reason").is_null()) message["finish"] = choice.at("finish_reason");
    const json::object& delta = choice.at("delta").as_object();
    if (const json::value* more = delta.if_contains("content"))
      message["content"].as_string() += more->as_string();
    const json::value* pieces = delta.if_contains("tool_calls");
    if (pieces == nullptr) continue;
    for (const json::value& piece : pieces->as_array()) {
      const auto index = static_cast<size_t>(piece.at("index").as_int64());
      if (index == calls.size()) {
        EXPECT_EQ(piece.at("function").at("arguments"), "");
        calls.push_back({{"id", piece.at("id")},
                         {"type", piece.at("type")},
                         {"function", piece.at("function")}});
      } else {
        calls.at(index).at("function").at("arguments").as_string() +=
            piece.at("function").at("arguments").as_string();
      }
    }
  }
  return message;
}

TEST(ServeTools, CallsComeWholeAndStreamedAndTheirResultsAreAnswered) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const std::string asked = R"(call add {\"a\": [1, \"é\"]}\ncall now)";
  const std::string members = std::string(kTools) + R"(,"temperature":0)";
  const HttpReply whole = served.post("/v1/chat/completions", chat_body(asked, members));
  ASSERT_EQ(whole.status, 200) << whole.body;
  const json::value choice = json::parse(whole.body).at_pointer("/choices/0");
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  const json::value& message = choice.at("message");
  EXPECT_TRUE(message.at("content").is_null()) << whole.body;
  const json::array calls = calls_in(message);
  ASSERT_EQ(calls.size(), 2U) << whole.body;
  EXPECT_EQ(calls[0].at_pointer("/function/name"), "add");
  EXPECT_EQ(calls[0].at_pointer("/function/arguments"), R"({"a": [1, "é"]})");
  EXPECT_EQ(calls[1].at_pointer("/function/arguments"), "{}");
  EXPECT_NE(calls[0].at("id"), calls[1].at("id"));

  const HttpReply stream =
      served.post("/v1/chat/completions", chat_body(asked, members + R"(,"stream":true,"seed":1)"));
  const json::object streamed = message_in(stream.body);
  EXPECT_EQ(streamed.at("finish"), "tool_calls") << stream.body;
  EXPECT_EQ(streamed.at("content"), "");
  ASSERT_EQ(streamed.at("tool_calls").as_array().size(), 2U) << stream.body;
  for (const size_t i : {0U, 1U})
    EXPECT_EQ(streamed.at("tool_calls").at(i).at("function"), calls[i].at("function"));

  // The message goes back as it came.
  const json::array messages = {
      {{"role", "user"}, {"content", "call add {\"a\": [1, \"é\"]}\ncall now"}},
      message,
      {{"role", "tool"}, {"content", "2"}, {"tool_call_id", calls[0].at("id")}},
      {{"role", "tool"}, {"content", "noon"}, {"tool_call_id", calls[1].at("id")}}};
  const HttpReply answered = served.post(
      "/v1/chat/completions",
      fmt::format(R"({{"model":"sim","messages":{},{}}})", json::serialize(messages), members));
  ASSERT_EQ(answered.status, 200) << answered.body;
  const json::value last = json::parse(answered.body).at_pointer("/choices/0");
  EXPECT_EQ(last.at("finish_reason"), "stop");
  EXPECT_TRUE(calls_in(last.at("message")).empty());
  EXPECT_NE(last.at_pointer("/message/content"), "");
}

TEST(ServeTools, OneCallAtATimeAndNoneWhereNoneIsWanted) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const auto ask = [&](std::string_view member) {
    return served.post("/v1/chat/completions",
                       chat_body(R"(call now\ncall now)", fmt::format("{},{}", kTools, member)));
  };
  const auto message = [](const HttpReply& reply) {
    return json::parse(reply.body).at_pointer("/choices/0/message");
  };
  EXPECT_EQ(calls_in(message(ask(R"("parallel_tool_calls":false)"))).size(), 1U);
  EXPECT_TRUE(calls_in(message(ask(R"("tool_choice":"none")"))).empty());
  const HttpReply other =
      served.post("/v1/chat/completions", chat_body("call gone", std::string(kTools)));
  for (const json::value& call : calls_in(message(other)))
    EXPECT_NE(call.at_pointer("/function/name"), "gone") << "there is no such tool";
}

constexpr std::string_view kForcedTools =
    R"("tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object",)"
    R"("properties":{"a":{"type":"integer","minimum":1,"maximum":9},"b":{"enum":["x","yy"]}},)"
    R"("required":["a","b"]}}},{"type":"function","function":{"name":"now"}}])";

// Checks the call against the schema of the tool, by hand.
void expect_forced_call(const json::value& call) {
  const std::string text(call.at_pointer("/function/arguments").as_string());
  const json::object arguments = json::parse(text).as_object();
  if (call.at_pointer("/function/name") == "now") {
    EXPECT_TRUE(arguments.empty()) << text;
    return;
  }
  EXPECT_EQ(call.at_pointer("/function/name"), "add");
  EXPECT_EQ(arguments.size(), 2U) << text;
  EXPECT_TRUE(arguments.at("a").as_int64() >= 1 && arguments.at("a").as_int64() <= 9) << text;
  EXPECT_TRUE(arguments.at("b") == "x" || arguments.at("b") == "yy") << text;
}

TEST(ServeTools, ACallThatIsWantedComesWhateverIsAsked) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const auto members = [](std::string_view choice) {
    return fmt::format(R"({},"tool_choice":{},"temperature":0)", kForcedTools, choice);
  };
  for (const std::string_view choice :
       {R"("required")", R"({"type":"function","function":{"name":"add"}})"}) {
    for (const std::string_view asked : {"hello", "call now", R"(call add {\"a\": 77})"}) {
      SCOPED_TRACE(::testing::Message() << choice << " " << asked);
      const HttpReply whole =
          served.post("/v1/chat/completions", chat_body(asked, members(choice)));
      ASSERT_EQ(whole.status, 200) << whole.body;
      const json::value answer = json::parse(whole.body).at_pointer("/choices/0");
      EXPECT_EQ(answer.at("finish_reason"), "tool_calls") << whole.body;
      EXPECT_TRUE(answer.at_pointer("/message/content").is_null()) << whole.body;
      const json::array calls = calls_in(answer.at("message"));
      ASSERT_FALSE(calls.empty()) << whole.body;
      for (const json::value& call : calls) {
        expect_forced_call(call);
        EXPECT_TRUE(choice == R"("required")" || call.at_pointer("/function/name") == "add");
      }
      const HttpReply stream = served.post("/v1/chat/completions",
                                           chat_body(asked, members(choice) + R"(,"stream":true)"));
      const json::object streamed = message_in(stream.body);
      EXPECT_EQ(streamed.at("finish"), "tool_calls");
      EXPECT_EQ(streamed.at("content"), "");
      ASSERT_EQ(streamed.at("tool_calls").as_array().size(), calls.size()) << stream.body;
      for (size_t i = 0; i < calls.size(); ++i)
        EXPECT_EQ(streamed.at("tool_calls").at(i).at("function"), calls[i].at("function"));
    }
  }
  const HttpReply several = served.post(
      "/v1/chat/completions", chat_body("hi", members(R"("required")") + R"(,"n":4,"seed":3)"));
  const json::value parsed = json::parse(several.body);
  for (const json::value& choice : parsed.at("choices").as_array()) {
    const json::array calls = calls_in(choice.at("message"));
    ASSERT_FALSE(calls.empty()) << several.body;
    for (const json::value& call : calls)
      expect_forced_call(call);
  }
}

TEST(ServeTools, ACallThatIsWantedComesInEachDialect) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const HttpReply message = served.post(
      "/v1/messages",
      R"({"model":"sim","max_tokens":200,"messages":[{"role":"user","content":"hi"}],)"
      R"("tools":[{"name":"add","input_schema":{"type":"object","properties":{"a":{"const":5}},)"
      R"("required":["a"]}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true}})");
  ASSERT_EQ(message.status, 200) << message.body;
  const json::value said = json::parse(message.body);
  EXPECT_EQ(said.at("stop_reason"), "tool_use") << message.body;
  ASSERT_EQ(said.at("content").as_array().size(), 1U) << message.body;
  EXPECT_EQ(said.at_pointer("/content/0/input/a"), 5);

  const HttpReply response = served.post(
      "/v1/responses",
      R"({"model":"sim","input":"hi","tools":[{"type":"function","name":"add","parameters":)"
      R"({"type":"object","properties":{"a":{"const":5}},"required":["a"]}},)"
      R"({"type":"function","name":"now"}],"tool_choice":{"type":"function","name":"add"},)"
      R"("parallel_tool_calls":false})");
  ASSERT_EQ(response.status, 200) << response.body;
  const json::array items = json::parse(response.body).at("output").as_array();
  ASSERT_EQ(items.size(), 1U) << response.body;
  EXPECT_EQ(items[0].at("type"), "function_call");
  EXPECT_EQ(items[0].at("arguments"), R"({"a": 5})");
}

constexpr std::string_view kFormSchema =
    R"({"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]})";
constexpr std::string_view kDigitSchema =
    R"({"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":9}},)"
    R"("required":["a"]})";

// The model writes calls if the request forces one, and text otherwise.
TEST(ServeTools, BesideAFormTheModelCallsOrKeepsToTheForm) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const std::string members =
      fmt::format(R"("tools":[{{"type":"function","function":{{"name":"add","parameters":{}}}}}],)"
                  R"("temperature":0,"response_format":{{"type":"json_schema","json_schema":)"
                  R"({{"name":"f","schema":{}}}}})",
                  kDigitSchema, kFormSchema);
  const auto ask = [&](std::string_view asked, std::string_view choice) {
    const std::string body = fmt::format(R"({},"tool_choice":"{}")", members, choice);
    const HttpReply whole = served.post("/v1/chat/completions", chat_body(asked, body));
    EXPECT_EQ(whole.status, 200) << whole.body;
    const HttpReply stream =
        served.post("/v1/chat/completions", chat_body(asked, body + R"(,"stream":true)"));
    json::value answer = json::parse(whole.body).at_pointer("/choices/0");
    EXPECT_EQ(answer.at("structure"), "valid") << whole.body;
    const json::object streamed = message_in(stream.body);
    EXPECT_EQ(streamed.at("finish"), answer.at("finish_reason"));
    EXPECT_EQ(streamed.at("tool_calls").as_array().size(), calls_in(answer.at("message")).size());
    const json::value& content = answer.at_pointer("/message/content");
    EXPECT_EQ(streamed.at("content"), content.is_null() ? json::value("") : content);
    return answer;
  };
  const std::string call = R"(call add {\"a\": 1})";
  const auto is_form = [](const json::value& answer) {
    const json::value text = answer.at_pointer("/message/content");
    return answer.at("finish_reason") == "stop" && calls_in(answer.at("message")).empty() &&
           json::parse(text.as_string()).at("ok").is_bool();
  };
  const json::value called = ask(call, "auto");
  EXPECT_EQ(called.at("finish_reason"), "tool_calls") << called;
  ASSERT_EQ(calls_in(called.at("message")).size(), 1U) << called;
  EXPECT_EQ(calls_in(called.at("message"))[0].at_pointer("/function/arguments"), R"({"a": 1})");
  EXPECT_TRUE(called.at_pointer("/message/content").is_null());
  EXPECT_TRUE(is_form(ask("hello", "auto")));
  EXPECT_TRUE(is_form(ask(call, "none")));
  EXPECT_EQ(ask("hello", "required").at("finish_reason"), "tool_calls");
}

TEST(ServeTools, BesideAFormTheModelCallsInEachDialect) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  for (const std::string_view asked : {"hello", R"(call add {\"a\": 1})"}) {
    const bool calls = asked != "hello";
    const HttpReply message = served.post(
        "/v1/messages",
        fmt::format(R"({{"model":"sim","max_tokens":200,"temperature":0,"messages":)"
                    R"([{{"role":"user","content":"{}"}}],"tools":[{{"name":"add","input_schema":)"
                    R"({}}}],"output_config":{{"format":{{"type":"json_schema","schema":{}}}}}}})",
                    asked, kDigitSchema, kFormSchema));
    ASSERT_EQ(message.status, 200) << message.body;
    const json::value said = json::parse(message.body);
    EXPECT_EQ(said.at("stop_reason"), calls ? "tool_use" : "end_turn") << message.body;
    EXPECT_EQ(said.at_pointer("/content/0/type"), calls ? "tool_use" : "text") << message.body;

    const HttpReply response = served.post(
        "/v1/responses",
        fmt::format(R"({{"model":"sim","input":"{}","temperature":0,"tools":[{{"type":"function",)"
                    R"("name":"add","parameters":{}}}],)"
                    R"("text":{{"format":{{"type":"json_schema","name":"f","schema":{}}}}}}})",
                    asked, kDigitSchema, kFormSchema));
    ASSERT_EQ(response.status, 200) << response.body;
    const json::array items = json::parse(response.body).at("output").as_array();
    ASSERT_EQ(items.size(), 1U) << response.body;
    EXPECT_EQ(items[0].at("type"), calls ? "function_call" : "message") << response.body;
  }
}

TEST(ServeTools, AToolWhoseArgumentsCannotBeEnforcedIsRefusedWhereACallIsWanted) {
  const JobFolder folder;
  Served served(folder, {"--model", "sim:instant,answer-tokens=8"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const HttpReply reply = served.post(
      "/v1/chat/completions",
      chat_body("hi", R"("tools":[{"type":"function","function":{"name":"f","parameters":)"
                      R"({"properties":{"a":{"type":"array","uniqueItems":true}}}}}],)"
                      R"("tool_choice":"required")"));
  EXPECT_EQ(reply.status, 400) << reply.body;
  const json::value error = json::parse(reply.body).at("error");
  EXPECT_EQ(error.at("param"), "tools[0].function.parameters");
  EXPECT_NE(error.at("message").as_string().find("at #/properties/a:"), json::string::npos)
      << reply.body;
}

TEST(RunTools, ARowOfAFileHasItsCalls) {
  const JobFolder folder;
  folder.write("requests.jsonl",
               fmt::format(R"({{"custom_id":"a","method":"POST","url":"/v1/chat/completions",)"
                           R"("body":{}}})",
                           chat_body(R"(call add {\"a\": 1})", std::string(kTools))) +
                   "\n");
  const Ended ended =
      folder.windrow({"run", "requests.jsonl", "-o", "results.jsonl", "--model", "sim:instant"});
  ASSERT_EQ(ended.code, 0) << ended;
  const json::value line = json::parse(folder.read("results.jsonl"));
  const json::array calls = calls_in(line.at_pointer("/response/body/choices/0/message"));
  ASSERT_EQ(calls.size(), 1U) << json::serialize(line);
  EXPECT_EQ(calls[0].at_pointer("/function/arguments"), R"({"a": 1})");
}

}  // namespace
}  // namespace windrow::end_to_end
