#include "api/pages/request_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/random.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

RequestRecord plain() {
  RequestRecord record;
  record.id = "req_1";
  record.method = "GET";
  record.path = "/v1/models";
  record.arrived_unix_s = 1'795'332'665;
  record.status = 200;
  return record;
}

TEST(RequestLog, SaysWhatIsKnownAndNothingElse) {
  EXPECT_EQ(log_line(plain(), std::chrono::microseconds(2'900)),
            R"({"time":"2026-11-22T07:31:05Z","id":"req_1","method":"GET","path":"/v1/models",)"
            R"("status":200,"duration_ms":2,"body_bytes":0})");
}

TEST(RequestLog, OfACallSaysModelTokensAndTimes) {
  RequestRecord record = plain();
  record.key = "alice";
  record.peer = "127.0.0.1";
  record.method = "POST";
  record.path = "/v1/chat/completions";
  record.body_bytes = 321;
  record.call = "chatcmpl-7";
  record.endpoint = llm::Endpoint::kChatCompletions;
  record.model = "chat";
  record.priority = dispatch::Priority::kBatch;
  record.stream = true;
  record.status = 500;
  record.code = "engine_error";
  record.usage = {.prompt_tokens = 11, .completion_tokens = 5, .cached_tokens = 3};
  record.queue = std::chrono::milliseconds(4);
  record.ttft = std::chrono::milliseconds(20);
  EXPECT_EQ(log_line(record, std::chrono::milliseconds(99)),
            R"({"time":"2026-11-22T07:31:05Z","id":"req_1","key":"alice","peer":"127.0.0.1",)"
            R"("method":"POST","path":"/v1/chat/completions","status":500,"code":"engine_error",)"
            R"("duration_ms":99,"body_bytes":321,"call":"chatcmpl-7","model":"chat",)"
            R"("priority":"batch","stream":true,"prompt_tokens":11,"cached_tokens":3,)"
            R"("completion_tokens":5,"queue_ms":4,"ttft_ms":20})");
}

TEST(RequestLog, AnswersAreBoundedAndCutBetweenCharacters) {
  RequestRecord record = plain();
  set_answers(record, {.choices = {{.text = "a\n"}, {.text = "b"}}});
  EXPECT_EQ(json::parse(log_line(record, {})).at("answers"), json::parse(R"(["a\n","b"])"));
  // As it comes.
  record.answers.clear();
  add_answer(record, 1, "b");
  add_answer(record, 0, "a");
  add_answer(record, 1, "bb");
  EXPECT_EQ(record.answers, (std::vector<std::string>{"a", "bbb"}));
  std::string euros;
  while (euros.size() < 2 * kLoggedBytesMax)
    euros += "\xE2\x82\xAC";
  add_answer(record, 2, euros);
  add_answer(record, 2, "x");
  size_t bytes = 0;
  for (const std::string& answer : record.answers)
    bytes += answer.size();
  EXPECT_LE(bytes, kLoggedBytesMax);
  EXPECT_GT(bytes, kLoggedBytesMax - 4);
  EXPECT_TRUE(record.answers[2].ends_with("\xE2\x82\xAC") || record.answers[2].ends_with("x"));
  EXPECT_EQ(shown_in_log("short"), "short");
  const std::string shown = shown_in_log(euros);
  EXPECT_LT(shown.size(), kLoggedBytesMax + 40);
  EXPECT_TRUE(shown.ends_with("\xE2\x82\xAC... (131073 bytes)")) << shown.substr(65'500);
  set_answers(record, {.raw = "{}"});
  EXPECT_EQ(record.answers, std::vector<std::string>{"{}"});
}

TEST(RequestLog, NoBytesOfARequestBreakTheLine) {
  Random random(7);
  for (int i = 0; i < 2'000; ++i) {
    RequestRecord record = plain();
    for (int n = 0; n < 40; ++n)
      record.path += static_cast<char>(random.below(256));
    record.body = record.path + "\x1b[31m\u0085\u009b\u2028\"\\\n\x7f";
    const std::string line = log_line(record, {});
    EXPECT_TRUE(std::ranges::none_of(
        line, [](char c) { return (static_cast<unsigned char>(c) < 0x20) || c == 0x7F; }));
    for (size_t at = line.find('\xC2'); at != std::string::npos; at = line.find('\xC2', at + 1))
      EXPECT_GE(static_cast<unsigned char>(line.at(at + 1)), 0xA0);
    boost::system::error_code failed;
    const json::value read = json::parse(line, failed);
    ASSERT_FALSE(failed) << line;
    EXPECT_TRUE(read.at("body").as_string().ends_with("\x1b[31m\u0085\u009b\u2028\"\\\n\x7f"));
  }
}

}  // namespace
}  // namespace windrow::api
