// How `windrow serve` ends: running requests are finished, or cut off at a second signal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "end_to_end/served.h"

namespace windrow::end_to_end {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Answers of a second, in many small pieces.
const Words kSlow = {"--model", "sim:step-us=10000,row-us=0,answer-tokens=100", "--grace", "3600"};

// Answers that take hours.
const Words kEndless = {"--model", "sim:step-us=100000,answer-tokens=90000,context=100000",
                        "--grace", "3600"};

std::string stream_of(std::string_view members = "") {
  return chat_body("hello",
                   fmt::format(R"("stream":true{}{})", members.empty() ? "" : ",", members));
}

TEST(ServeStop, AStreamIsFinishedAndNewRequestsAreRefused) {
  const JobFolder folder;
  Served served(folder, kSlow);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  HttpCall stream(served.port(), "POST", "/v1/chat/completions", stream_of());
  ASSERT_TRUE(stream.wait_for("\"content\":\" "));
  served.process().send(SIGTERM);
  ASSERT_TRUE(served.process().wait_for_errors("stopping"));
  const HttpReply reply = stream.rest();
  EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n")) << reply.body;
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST(ServeStop, TheSecondSignalCutsOffWhatRuns) {
  const JobFolder folder;
  Served served(folder, kEndless);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  HttpCall stream(served.port(), "POST", "/v1/chat/completions", stream_of(R"("ignore_eos":true)"));
  ASSERT_TRUE(stream.wait_for("\"content\":\" "));
  served.process().send(SIGINT);
  ASSERT_TRUE(served.process().wait_for_errors("stopping: "));
  served.process().send(SIGINT);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.errors, HasSubstr("stopping at once"));
  const std::string cut = stream.rest().body;
  EXPECT_THAT(cut, Not(HasSubstr("\"finish_reason\":\"stop\"")));
  EXPECT_THAT(cut, HasSubstr("\"code\":\"server_stopping\"")) << "as it is the first time";
}

TEST(ServeStop, WhatIsNotDoneWhenTheGraceIsOverIsCutOff) {
  const JobFolder folder;
  Words words = kEndless;
  words.back() = "0";
  Served served(folder, words);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  HttpCall stream(served.port(), "POST", "/v1/chat/completions", stream_of(R"("ignore_eos":true)"));
  ASSERT_TRUE(stream.wait_for("\"content\":\" "));
  served.process().send(SIGTERM);
  const Ended ended = served.process().wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST(ServeStop, OneThatHasNothingToDoEndsAtOnce) {
  const JobFolder folder;
  Served served(folder, kSlow);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  served.process().send(SIGINT);
  EXPECT_EQ(served.process().wait().code, 0);
}

TEST(ServeStop, OneThatIsKilledLeavesItsPortToTheNext) {
  const JobFolder folder;
  Served first(folder, kEndless);
  ASSERT_TRUE(first.wait_until_ready()) << first.process().wait();
  HttpCall stream(first.port(), "POST", "/v1/chat/completions", stream_of());
  ASSERT_TRUE(stream.wait_for("\"content\":\" "));
  first.process().send(SIGKILL);
  EXPECT_EQ(first.process().wait().signal, SIGKILL);
  Served next(folder, kSlow, fmt::format("127.0.0.1:{}", first.port()));
  EXPECT_TRUE(next.wait_until_ready());
  EXPECT_EQ(next.port(), first.port());
}

TEST(ServeStop, AnInteractiveRequestPassesABatch) {
  const JobFolder folder;
  Words words = kEndless;
  words.insert(words.end(), {"--rows-max", "8"});
  Served served(folder, words);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  // More than there are rows, each without end. The first begins alone: which of the others have
  // places is not theirs to choose.
  std::vector<std::unique_ptr<HttpCall>> batch;
  batch.reserve(40);
  for (size_t i = 0; i < 40; ++i) {
    batch.push_back(
        std::make_unique<HttpCall>(served.port(), "POST", "/v1/chat/completions",
                                   stream_of(R"("ignore_eos":true,"priority":"batch")")));
    if (i == 0) {
      ASSERT_TRUE(batch.front()->wait_for("\"content\":\" "));
    }
  }
  ASSERT_TRUE(served.process().wait_until([&] { return inside(served); }, batch.size()));
  const HttpReply reply = served.post(
      "/v1/chat/completions", chat_body("now", R"("priority":"interactive","max_tokens":2)"));
  EXPECT_EQ(reply.status, 200) << reply.body;
}

TEST(ServeStop, AClientThatDisconnectsCancelsItsRows) {
  const JobFolder folder;
  Words words = kEndless;
  words.insert(words.end(), {"--rows-max", "1"});
  Served served(folder, words);
  ASSERT_TRUE(served.wait_until_ready()) << served.process().wait();
  {
    HttpCall stream(served.port(), "POST", "/v1/chat/completions",
                    stream_of(R"("ignore_eos":true)"));
    ASSERT_TRUE(stream.wait_for("\"content\":\" "));
  }
  // There is one place, and it is free again.
  const HttpReply reply =
      served.post("/v1/chat/completions", chat_body("next", R"("max_tokens":2)"));
  EXPECT_EQ(reply.status, 200) << reply.body;
}

}  // namespace
}  // namespace windrow::end_to_end
