// `windrow ps` and `windrow chat`, against a server and with a model of their own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <memory>
#include <string>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

const Words kQuick = {"--model", "sim:instant,answer-tokens=8"};

std::string url_of(const Served& served) {
  return fmt::format("http://127.0.0.1:{}", served.port());
}

Command in_terminal(const JobFolder& folder, const Words& words, const std::string& typed) {
  Command command = folder.command(words);
  command.variables["TERM"] = "xterm";
  command.terminal = true;
  command.input = typed;
  command.input_stays_open = true;
  return command;
}

// What stands behind the last `mark`; empty where there is none.
std::string behind(const std::string& text, std::string_view mark) {
  const size_t at = text.rfind(mark);
  return at == std::string::npos ? "" : text.substr(at + mark.size());
}

TEST(Ps, ShowsModelsAndRequests) {
  const JobFolder folder;
  Served served(folder, {"--model", "chat=sim:step-us=20000,answer-tokens=5000"});
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  const Ended idle = folder.windrow({"ps", "--url", url_of(served)});
  EXPECT_EQ(idle.code, 0) << idle;
  EXPECT_THAT(idle.output, HasSubstr("MODEL  STATE "));
  EXPECT_THAT(idle.output, HasSubstr("chat   loaded"));
  EXPECT_THAT(idle.output, HasSubstr("no requests"));

  HttpCall call(served.port(), "POST", "/v1/chat/completions",
                R"({"model":"chat","stream":true,"max_tokens":4000,
                    "messages":[{"role":"user","content":"hello"}]})");
  ASSERT_TRUE(call.wait_for("data: "));
  const Ended busy = folder.windrow({"ps", "--json", "--url", url_of(served)});
  EXPECT_EQ(busy.code, 0) << busy;
  const json::value shown = json::parse(busy.output);
  EXPECT_EQ(shown.at_pointer("/requests/total"), 1) << busy;
  EXPECT_EQ(shown.at_pointer("/requests/data/0/model"), "chat") << busy;
  EXPECT_EQ(shown.at_pointer("/models/0/load/rows_running"), 1) << busy;
  const Ended text = folder.windrow({"ps", "--url", url_of(served)});
  EXPECT_THAT(text.output, HasSubstr("/v1/chat/completions  answering"));
}

TEST(Ps, SaysWhereNoServerIs) {
  const JobFolder folder;
  const Ended ended = folder.windrow({"ps", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("--url names another server"));
}

TEST(Chat, APipedQuestionIsAnsweredOnStandardOutput) {
  const JobFolder folder;
  Command command = folder.command({"chat", "--model", "sim:instant,answer-tokens=8", "--set",
                                    "temperature=0", "--system", "be brief"});
  command.input = "hello\nthere\n";
  const Ended ended = run(command);
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_GT(ended.output.size(), 8U) << ended;
  EXPECT_TRUE(ended.output.ends_with("\n"));
  EXPECT_EQ(ended.errors, "") << ended;
  EXPECT_EQ(run(command).output, ended.output) << "temperature 0";

  command.input = " \n";
  const Ended empty = run(command);
  EXPECT_EQ(empty.code, 2) << empty;
  EXPECT_THAT(empty.errors, HasSubstr("standard input has no question"));
}

TEST(Chat, AServerAnswersLikeAModelOfItsOwn) {
  const JobFolder folder;
  Served served(folder, kQuick);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  Command local = folder.command({"chat", "--model", kQuick.back(), "--set", "temperature=0"});
  local.input = "hello";
  Command remote = folder.command({"chat", "--url", url_of(served), "--set", "temperature=0"});
  remote.input = "hello";
  const Ended answer = run(remote);
  EXPECT_EQ(answer.code, 0) << answer;
  EXPECT_EQ(answer.output, run(local).output);

  Command nameless = folder.command({"chat"});
  nameless.input = "hello";
  EXPECT_THAT(run(nameless).errors, HasSubstr("windrow chat --model MODEL.gguf, or windrow chat"));
  Command mistaken = folder.command({"chat", "--url", url_of(served), "--set", "temprature=0"});
  mistaken.input = "hello";
  const Ended refused = run(mistaken);
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.errors, HasSubstr("temprature"));
}

TEST(Chat, InATerminalLinesAreQuestionsAndWordsWithASlashAreNot) {
  const JobFolder folder;
  Process process(in_terminal(folder, {"chat", "--model", "sim:instant,answer-tokens=8"},
                              "/system be brief\nhello\n/rest\n/reset\n\x04"));
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.output, HasSubstr("/help lists what else may be typed"));
  EXPECT_THAT(ended.output, HasSubstr("this is the system message from now on"));
  EXPECT_THAT(ended.output, HasSubstr("/rest is not a word of this chat"));
  EXPECT_THAT(ended.output, HasSubstr("the conversation starts over"));
}

TEST(Chat, CtrlCStopsAnAnswerAndNotTheChat) {
  const JobFolder folder;
  Process process(
      in_terminal(folder, {"chat", "--model", "sim:step-us=20000,answer-tokens=5000"}, "hello\n"));
  // What is typed is shown by the terminal; the answer is behind the prompt of its own.
  ASSERT_TRUE(process.wait_until([&] { return behind(process.output(), "> ").size() > 20; }));
  process.write("\x03");
  ASSERT_TRUE(process.wait_until([&] { return process.output(); }, HasSubstr("(stopped)")));
  process.write("/exit\n");
  const Ended ended = process.wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

}  // namespace
}  // namespace windrow::end_to_end
