// Replies of vLLM's /v1/completions with token ids, whole and streamed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "session/replies/testing/replies.h"
#include "session/replies/turn_reader.h"

namespace windrow::session {
namespace {

using testing::base64_npy;
using testing::message_of;
using testing::nested_lists;
using testing::numbers_from;
using testing::numbers_of;

using Result = std::variant<TurnReply, llm::Failure>;

// 3 tokens were sent and 2 sampled: 4 rows.
struct Completion {
  std::string ids = R"("token_ids":[10,11])";
  std::string logprobs = R"({"text_offset":[0,1],"token_logprobs":[-0.25,-0.5],)"
                         R"("tokens":["token_id:10","token_id:11"],"top_logprobs":null})";
  std::string finish = "\"stop\"";
  std::string usage = R"({"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,)"
                      R"("prompt_tokens_details":{"cached_tokens":1}})";
  std::string choice;  // more members of the choice, with a comma in front
  std::string extra;   // more members of the reply, with a comma in front

  std::string text() const {
    return fmt::format(
        R"({{"id":"cmpl-1","object":"text_completion","created":7,"model":"m","choices":[{{)"
        R"("index":0,"text":"ab","logprobs":{},"finish_reason":{},"stop_reason":null,{}{}}}],)"
        R"("service_tier":null,"usage":{}{}}})",
        logprobs, finish, ids, choice, usage, extra);
  }
};

struct Read {
  Result result;
  std::vector<int32_t> streamed;
};

Read read_completion(std::string_view text, bool streamed = false, size_t piece_bytes = 1 << 16,
                     WantedRows rows = {.wanted = true}) {
  Read read;
  TurnReaderOptions options;
  options.streamed = streamed;
  options.prompt_tokens = 3;
  options.rows[0] = rows;
  options.on_tokens = [&](std::span<const int32_t> tokens) {
    read.streamed.insert(read.streamed.end(), tokens.begin(), tokens.end());
  };
  read.result =
      testing::read_reply(ServerApi::kVllmCompletions, std::move(options), text, piece_bytes);
  return read;
}

const TurnReply& reply_of(const Read& read) {
  static const TurnReply kNone;
  EXPECT_EQ(message_of(read.result), "");
  const auto* reply = std::get_if<TurnReply>(&read.result);
  return reply == nullptr ? kNone : *reply;
}

TEST(VllmCompletionReader, ReadsAWholeReply) {
  const Completion completion{.choice = R"(,"prompt_token_ids":[1,2,3],"routed_experts":null)"};
  for (const size_t piece : {1UL, 9UL, 100'000UL}) {
    const Read read = read_completion(completion.text(), false, piece);
    const TurnReply& reply = reply_of(read);
    EXPECT_EQ(reply.tokens, (std::vector<int32_t>{10, 11}));
    EXPECT_EQ(reply.logprobs, (std::vector<double>{-0.25, -0.5}));
    EXPECT_EQ(reply.finish_reason, "stop");
    EXPECT_EQ(reply.figures.prompt_tokens, 3);
    EXPECT_EQ(reply.figures.cached_tokens, 1);
    EXPECT_EQ(reply.rows[0], nullptr);
    EXPECT_TRUE(reply.chat.empty());
    EXPECT_EQ(boost::json::serialize(reply.members),
              R"({"id":"cmpl-1","object":"text_completion","created":7,"model":"m","usage":)"
              R"({"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,)"
              R"("prompt_tokens_details":{"cached_tokens":1}}})");
  }
}

TEST(VllmCompletionReader, ReadsOneArrayOfTheRowsOfAllTokens) {
  const std::vector<int32_t> numbers = numbers_from(0, 16);
  for (const std::string_view type : {"|u1", "<u2", "<i4"}) {
    const Completion completion{
        .choice = fmt::format(R"(,"routed_experts":"{}")", base64_npy(numbers, type, "(4, 2, 2)"))};
    const Read all = read_completion(completion.text(), false, 13);
    ASSERT_NE(reply_of(all).rows[0], nullptr);
    EXPECT_EQ(reply_of(all).rows[0]->values_per_row, 4);
    EXPECT_EQ(numbers_of(*reply_of(all).rows[0]), numbers);
    const Read some = read_completion(completion.text(), false, 13,
                                      {.wanted = true, .first_row = 3, .values_per_row = 4});
    EXPECT_EQ(reply_of(some).rows[0]->first_row, 3);
    EXPECT_EQ(numbers_of(*reply_of(some).rows[0]), numbers_from(12, 4));
  }
}

TEST(VllmCompletionReader, RowsBeginWhereTheyWereAskedFor) {
  const Completion completion{.choice =
                                  fmt::format(R"(,"routed_experts":"{}")",
                                              base64_npy(numbers_from(0, 8), "|u1", "(2, 2, 2)"))};
  const Read read =
      read_completion(completion.text(), false, 13,
                      {.wanted = true, .first_row = 2, .reply_begins_at = 2, .values_per_row = 4});
  EXPECT_EQ(reply_of(read).rows[0]->first_row, 2);
  EXPECT_EQ(numbers_of(*reply_of(read).rows[0]), numbers_from(0, 8));
  EXPECT_EQ(message_of(read_completion(completion.text()).result),
            "routed_experts has 2 rows where 4 rows (of 5 tokens in all, from row 0 on) belong to "
            "the reply");
}

TEST(VllmCompletionReader, JoinsTheRowsOfThePromptAndOfTheAnswer) {
  // Of each: lists, or a NumPy file; and in either order, but for a file of rows of the answer,
  // which is taken for all rows if nothing came before it.
  const std::string lists = nested_lists(numbers_from(0, 12), 2, 2);
  const std::string file =
      fmt::format("\"{}\"", base64_npy(numbers_from(0, 12), "|u1", "(3, 2, 2)"));
  const std::string answer = nested_lists(numbers_from(12, 4), 2, 2);
  for (const std::string& prompt : {lists, file}) {
    Completion behind{.choice = fmt::format(R"(,"routed_experts":{})", answer),
                      .extra = fmt::format(R"(,"prompt_routed_experts":{})", prompt)};
    for (const size_t held : {0UL, 2UL, 3UL}) {
      const WantedRows wanted = {
          .wanted = true, .first_row = held, .values_per_row = held == 0 ? 0UL : 4UL};
      const Read read = read_completion(behind.text(), false, 17, wanted);
      ASSERT_NE(reply_of(read).rows[0], nullptr);
      EXPECT_EQ(reply_of(read).rows[0]->first_row, held);
      EXPECT_EQ(numbers_of(*reply_of(read).rows[0]),
                numbers_from(static_cast<int32_t>(4 * held), 16 - 4 * held));
    }
  }
  const std::string answer_file =
      fmt::format("\"{}\"", base64_npy(numbers_from(12, 4), "|u1", "(1, 2, 2)"));
  const std::string before = fmt::format(
      R"({{"prompt_routed_experts":{},{})", lists,
      Completion{.choice = fmt::format(R"(,"routed_experts":{})", answer_file)}.text().substr(1));
  const Read read =
      read_completion(before, false, 17, {.wanted = true, .first_row = 2, .values_per_row = 4});
  EXPECT_EQ(numbers_of(*reply_of(read).rows[0]), numbers_from(8, 8));
}

TEST(VllmCompletionReader, ListsMayBeTheRowsOfAllTokens) {
  const Completion completion{
      .choice = fmt::format(R"(,"routed_experts":{})", nested_lists(numbers_from(0, 16), 2, 2))};
  const Read read = read_completion(completion.text(), false, 17,
                                    {.wanted = true, .first_row = 2, .values_per_row = 4});
  EXPECT_EQ(reply_of(read).rows[0]->first_row, 2);
  EXPECT_EQ(numbers_of(*reply_of(read).rows[0]), numbers_from(8, 8));
}

TEST(VllmCompletionReader, SaysWhatIsWrongWithRows) {
  const auto message = [](std::string_view prompt, std::string_view answer, WantedRows wanted) {
    const Completion completion{.choice = fmt::format(R"(,"routed_experts":{})", answer),
                                .extra = fmt::format(R"(,"prompt_routed_experts":{})", prompt)};
    return message_of(read_completion(completion.text(), false, 1000, wanted).result);
  };
  EXPECT_EQ(message("[[1],[2]]", "[[3]]", {.wanted = true}),
            "prompt_routed_experts has 2 numbers and routed_experts 1, which are not rows of 3 "
            "prompt tokens and 2 sampled ones, the last of which has none");
  EXPECT_EQ(
      message("[[1],[2],[3]]", "null", {.wanted = true, .values_per_row = 1}),
      "prompt_routed_experts has 3 numbers and routed_experts 0, which are not rows of 3 "
      "prompt tokens and 2 sampled ones, the last of which has none, of 1 numbers as the rows "
      "before them");
  EXPECT_EQ(message("null", R"({"encoding":"base64","dtype":"int16"})", {.wanted = true}),
            "routed_experts of the reply is an object, not rows as base64 or lists");
  EXPECT_EQ(message("{}", "null", {.wanted = true}),
            "prompt_routed_experts of the reply is an object, not rows as base64 or lists");
  EXPECT_EQ(message(R"("!!!!")", "null", {.wanted = true}),
            "the reply has rows that cannot be read: prompt_routed_experts: it is not base64");
  EXPECT_EQ(message("[[1],[2],[3]]",
                    fmt::format("\"{}\"", base64_npy(numbers_from(9, 1), "|u1", "(1, 1, 1)")),
                    {.wanted = true, .first_row = 1, .values_per_row = 1}),
            "the reply has prompt_routed_experts behind routed_experts, which is no form of vLLM");
}

TEST(VllmCompletionReader, TokenIdsMayBeAmongTheTexts) {
  const Read read = read_completion(Completion{.ids = R"("token_ids":null)"}.text());
  EXPECT_EQ(reply_of(read).tokens, (std::vector<int32_t>{10, 11}));
}

TEST(VllmCompletionReader, SaysWhatIsWrong) {
  const auto message = [](const Completion& completion) {
    return message_of(read_completion(completion.text()).result);
  };
  EXPECT_EQ(message({.ids = R"("token_ids":null)",
                     .logprobs = R"({"token_logprobs":[-1,-1],"tokens":["a","b"]})"}),
            "the reply has no token ids: vLLM from 0.10.2 on sends them when return_token_ids is "
            "asked for");
  EXPECT_EQ(message({.logprobs = "null"}),
            "the reply has 2 tokens and no logprobs.token_logprobs: does the server take "
            "`logprobs`?");
  EXPECT_EQ(message({.logprobs = R"({"token_logprobs":[-1]})"}),
            "the reply has 2 tokens and 1 log-probabilities");
  EXPECT_EQ(message({.logprobs = R"({"token_logprobs":[-1,null]})"}),
            "the reply: element 1 of token_logprobs is not a log-probability: null");
  EXPECT_EQ(message({.ids = R"("token_ids":[10,1.5])"}),
            "the reply: element 1 of token_ids is not a token id: 1.5E0");
  EXPECT_EQ(message({.usage = R"({"completion_tokens":3})"}),
            "the reply has 2 token ids, and usage.completion_tokens 3");
  EXPECT_EQ(message({.choice = R"(,"prompt_token_ids":[1,2])"}),
            "the reply has 2 prompt_token_ids where 3 tokens were sent");
  EXPECT_EQ(message({.finish = "null"}),
            "the reply ends without a finish_reason, after 2 tokens in 1 object");
  EXPECT_EQ(message_of(read_completion(R"({"choices":[]})").result), "the reply has no choice");
  EXPECT_EQ(
      message_of(read_completion(R"({"error":{"message":"no such model","code":404}})").result),
      "the server reports an error in place of an answer: no such model");
}

// --- streams ---

std::string event(std::string_view choice) {
  return fmt::format("data: {{\"id\":\"cmpl-1\",\"model\":\"m\",\"choices\":[{}]}}\n\n", choice);
}
std::string chunk(std::string_view ids, std::string_view logprobs, std::string_view finish = "null",
                  std::string_view more = "") {
  return event(fmt::format(R"({{"index":0,"text":"x","logprobs":{{"token_logprobs":[{}]}},)"
                           R"("finish_reason":{},"token_ids":[{}]{}}})",
                           logprobs, finish, ids, more));
}
const std::string kUsage =
    "data: {\"id\":\"cmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
    "\"completion_tokens\":3}}\n\n";
const std::string kDone = "data: [DONE]\n\n";

TEST(VllmCompletionReader, ReadsAStream) {
  const std::string stream = chunk("10", "-1", "null", R"(,"prompt_token_ids":[1,2,3])") +
                             chunk("11,12", "-2,-3", "\"length\"") + kUsage + kDone;
  for (const size_t piece : {1UL, 30UL, 100'000UL}) {
    const Read read = read_completion(stream, true, piece);
    EXPECT_EQ(reply_of(read).tokens, (std::vector<int32_t>{10, 11, 12}));
    EXPECT_EQ(reply_of(read).logprobs, (std::vector<double>{-1, -2, -3}));
    EXPECT_EQ(read.streamed, reply_of(read).tokens);
    EXPECT_EQ(reply_of(read).finish_reason, "length");
    EXPECT_EQ(reply_of(read).figures.prompt_tokens, 3);
    EXPECT_EQ(boost::json::serialize(reply_of(read).members),
              R"({"id":"cmpl-1","model":"m","usage":{"prompt_tokens":3,"completion_tokens":3}})");
  }
}

TEST(VllmCompletionReader, TheLastEventOfAStreamMayHaveNoTokens) {
  const std::string stream =
      chunk("10,11,12", "-1,-2,-3") +
      event(R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop","token_ids":null})") +
      kUsage + kDone;
  EXPECT_EQ(reply_of(read_completion(stream, true)).tokens, (std::vector<int32_t>{10, 11, 12}));
}

TEST(VllmCompletionReader, AStreamWithoutItsEndCannotBeUsed) {
  const auto message = [](const std::string& stream) {
    return message_of(read_completion(stream, true).result);
  };
  const std::string first = chunk("10", "-1");
  const std::string last = chunk("11,12", "-2,-3", "\"stop\"");
  EXPECT_EQ(message(first + last + kUsage),
            "the reply is a stream without its end: after 3 events there was no `data: [DONE]`");
  EXPECT_EQ(message(first + kDone),
            "the reply ends without a finish_reason, after 1 tokens in 1 events");
  EXPECT_EQ(message(last + kUsage + kDone),
            "the reply has 2 token ids, and usage.completion_tokens 3");
  EXPECT_EQ(message(first + "data: {\"error\":{\"message\":\"died\"}}\n\n" + kDone),
            "the server reports an error in place of an answer: died");
  EXPECT_EQ(message(first + event(R"({"index":0,"text":"y","finish_reason":null})")),
            "event 2 of the reply has no token ids: vLLM from 0.10.2 on sends them when "
            "return_token_ids is asked for");
}

}  // namespace
}  // namespace windrow::session
