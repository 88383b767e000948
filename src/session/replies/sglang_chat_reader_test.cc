// Replies of SGLang's /v1/chat/completions with meta_info.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "session/replies/testing/replies.h"
#include "session/replies/turn_reader.h"

namespace windrow::session {
namespace {

namespace json = boost::json;
using testing::base64_ints;
using testing::message_of;
using testing::numbers_from;
using testing::numbers_of;
using testing::token_logprobs;

using Result = std::variant<TurnReply, llm::Failure>;

constexpr std::string_view kNoMetaInfo =
    "meta_info and output_token_logprobs must be in choice (requires logprobs=True)";
constexpr std::string_view kNoContent =
    "assistant message content is None, when tool call parser failed SGLang should still return an "
    "empty content rather than None. Please check your modified SGLang version.";

// 3 tokens were sent and 2 sampled: 4 rows, here of 2 numbers.
struct ChatReply {
  std::string message = R"({"role":"assistant","content":"hi"})";
  std::string logprobs = "[[-0.25,10,\"h\"],[-0.5,11,\"i\"]]";
  std::string completion_tokens = "2";
  std::string meta_info;  // more members, with a comma in front
  std::string extra;      // more members of the reply, with a comma in front

  std::string text() const {
    return fmt::format(
        R"({{"id":"r1","choices":[{{"index":0,"message":{},"finish_reason":"stop","meta_info":)"
        R"({{"output_token_logprobs":{},"completion_tokens":{}{}}}}}],)"
        R"("usage":{{"total_tokens":5}}{}}})",
        message, logprobs, completion_tokens, meta_info, extra);
  }
};

TurnReaderOptions with_rows(WantedRows rows = {.wanted = true}) {
  TurnReaderOptions options;
  options.prompt_tokens = 3;
  options.rows[0] = rows;
  options.rows[1] = rows;
  return options;
}

Result read_chat(std::string_view text, size_t piece_bytes = 1 << 16,
                 TurnReaderOptions options = with_rows()) {
  return testing::read_reply(ServerApi::kSglangChat, std::move(options), text, piece_bytes);
}

const TurnReply& reply_of(const Result& result) {
  static const TurnReply kNone;
  EXPECT_EQ(message_of(result), "");
  const auto* reply = std::get_if<TurnReply>(&result);
  return reply == nullptr ? kNone : *reply;
}

TEST(SglangChatReader, ReadsTokensRowsAndFigures) {
  const ChatReply chat{
      .meta_info = fmt::format(
          R"(,"prompt_tokens":3,"cached_tokens":2,"weight_version":"w7","routed_experts":"{}",)"
          R"("indexer_topk":"{}","indexer_topk_num_layers":3,"spec_verify_ct":4,)"
          R"("e2e_latency":0.25,"spec_accept_token_num":5,"spec_draft_token_num":6)",
          base64_ints(numbers_from(0, 8)), base64_ints(numbers_from(100, 12)))};
  for (const size_t piece : {1UL, 7UL, 64UL, 100'000UL}) {
    const Result result = read_chat(chat.text(), piece);
    const TurnReply& reply = reply_of(result);
    EXPECT_EQ(reply.tokens, (std::vector<int32_t>{10, 11}));
    EXPECT_EQ(reply.logprobs, (std::vector<double>{-0.25, -0.5}));
    EXPECT_EQ(reply.finish_reason, "stop");
    EXPECT_EQ(reply.figures.prompt_tokens, 3);
    EXPECT_EQ(reply.figures.cached_tokens, 2);
    EXPECT_EQ(reply.figures.weight_version, "w7");
    EXPECT_EQ(reply.figures.latency_s, 0.25);
    EXPECT_EQ(reply.figures.spec_passes, 4);
    EXPECT_EQ(reply.figures.spec_accepted, 5);
    EXPECT_EQ(reply.figures.spec_drafted, 6);
    EXPECT_EQ(reply.figures.indexer_layers, 3);
    ASSERT_NE(reply.rows[0], nullptr);
    EXPECT_EQ(reply.rows[0]->values_per_row, 2);
    EXPECT_EQ(numbers_of(*reply.rows[0]), numbers_from(0, 8));
    ASSERT_NE(reply.rows[1], nullptr);
    EXPECT_EQ(reply.rows[1]->values_per_row, 3);
    EXPECT_EQ(numbers_of(*reply.rows[1]), numbers_from(100, 12));
  }
}

TEST(SglangChatReader, KeepsTheReplyAsItWasButForItsRows) {
  ChatReply chat;
  const json::value plain = json::parse(chat.text());
  chat.meta_info =
      fmt::format(R"(,"routed_experts":"{}","indexer_topk":null)", base64_ints(numbers_from(0, 8)));
  chat.extra =
      fmt::format(R"(,"sglext":{{"routed_experts":"{}"}})", base64_ints(numbers_from(0, 8)));
  const Result result = read_chat(chat.text());
  EXPECT_EQ(json::serialize(reply_of(result).chat), json::serialize(plain));
}

TEST(SglangChatReader, KeepsOtherMembersOfSglext) {
  const ChatReply chat{.extra = R"(,"sglext":{"a":1,"routed_experts":"","b":2})"};
  const Result result = read_chat(chat.text());
  EXPECT_EQ(json::serialize(reply_of(result).chat.at("sglext")), R"({"a":1,"b":2})");
}

TEST(SglangChatReader, RowsThatAreSentTwiceAreReadOnce) {
  ChatReply chat;
  // The second one would be another.
  chat.meta_info = fmt::format(R"(,"routed_experts":"{}")", base64_ints(numbers_from(0, 8)));
  chat.extra =
      fmt::format(R"(,"sglext":{{"routed_experts":"{}"}})", base64_ints(numbers_from(50, 9)));
  const Result result = read_chat(chat.text());
  EXPECT_EQ(numbers_of(*reply_of(result).rows[0]), numbers_from(0, 8));
}

TEST(SglangChatReader, SkipsRowsThatAreHeld) {
  const ChatReply chat{
      .meta_info = fmt::format(R"(,"routed_experts":"{}")", base64_ints(numbers_from(0, 8)))};
  const Result result =
      read_chat(chat.text(), 10, with_rows({.wanted = true, .first_row = 3, .values_per_row = 2}));
  ASSERT_NE(reply_of(result).rows[0], nullptr);
  EXPECT_EQ(reply_of(result).rows[0]->first_row, 3);
  EXPECT_EQ(numbers_of(*reply_of(result).rows[0]), numbers_from(6, 2));
}

TEST(SglangChatReader, RowsBeginWhereTheyWereAskedFor) {
  const ChatReply chat{
      .meta_info = fmt::format(R"(,"routed_experts":"{}")", base64_ints(numbers_from(0, 4)))};
  const WantedRows wanted = {
      .wanted = true, .first_row = 2, .reply_begins_at = 2, .values_per_row = 2};
  const Result result = read_chat(chat.text(), 10, with_rows(wanted));
  EXPECT_EQ(reply_of(result).rows[0]->first_row, 2);
  EXPECT_EQ(reply_of(result).rows[0]->end_row(), 4);
  EXPECT_EQ(message_of(read_chat(chat.text())),
            "");  // 4 numbers are 4 rows of 1 where all are expected and no length is known
  EXPECT_EQ(
      message_of(read_chat(chat.text(), 10, with_rows({.wanted = true, .values_per_row = 2}))),
      "routed_experts has 4 numbers, which are not 4 rows (of 5 tokens in all, from row 0 on) "
      "of 2 numbers, as the rows before them");
}

TEST(SglangChatReader, RowsThatAreNotWantedAreDropped) {
  const ChatReply chat{.meta_info = R"(,"routed_experts":"not base64?","indexer_topk":[[1],[2]])"};
  const Result result = read_chat(chat.text(), 10, with_rows({}));
  EXPECT_EQ(reply_of(result).rows[0], nullptr);
  EXPECT_EQ(reply_of(result).rows[1], nullptr);
}

TEST(SglangChatReader, RowsMayBeNestedLists) {
  const ChatReply chat{.meta_info = fmt::format(R"(,"routed_experts":{})",
                                                testing::nested_lists(numbers_from(0, 16), 2, 2))};
  const Result result =
      read_chat(chat.text(), 3, with_rows({.wanted = true, .first_row = 3, .values_per_row = 4}));
  EXPECT_EQ(numbers_of(*reply_of(result).rows[0]), numbers_from(12, 4));
}

TEST(SglangChatReader, LogProbabilitiesComeBackBitByBit) {
  const std::vector<double> logprobs = {-0.12345678901234568, -1.2345678901234567e-17,
                                        std::nextafter(-0.1, 0.0), -17.000000000000004, 0.0};
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 5};
  const ChatReply chat{.logprobs = token_logprobs(tokens, logprobs), .completion_tokens = "5"};
  const Result result = read_chat(chat.text());
  EXPECT_EQ(reply_of(result).logprobs, logprobs);
  // And for the client.
  const std::string written = json::serialize(reply_of(result).chat);
  EXPECT_NE(written.find("-1.2345678901234568E-1"), std::string::npos) << written;
}

TEST(SglangChatReader, AnAnswerMayHaveNoTokensAndNoText) {
  const ChatReply chat{.message = R"({"role":"assistant","content":""})",
                       .logprobs = "[]",
                       .completion_tokens = "0"};
  const Result result = read_chat(chat.text());
  EXPECT_TRUE(reply_of(result).tokens.empty());
}

// --- what cannot be used ---

TEST(SglangChatReader, SaysInTheWordsOfTheReferenceWhatIsWrong) {
  for (const std::string_view text :
       {R"({})", R"({"choices":[{}]})", R"({"choices":[{"meta_info":null}]})",
        R"({"choices":[{"message":null,"meta_info":{"completion_tokens":1}}]})",
        R"({"choices":[17]})"}) {
    EXPECT_EQ(message_of(read_chat(text)), kNoMetaInfo) << text;
  }
  for (const std::string_view message : {"null", "{}", R"({"content":null})", "7"})
    EXPECT_EQ(message_of(read_chat(ChatReply{.message = std::string(message)}.text())), kNoContent);
  EXPECT_EQ(message_of(read_chat(ChatReply{.completion_tokens = "3"}.text())),
            "invalid chat completion response: len(output_token_logprobs)=2 != "
            "completion_tokens=3. Please check whether you use the correct SGLang branch which has "
            "fix the tokenizer batch decode issue.");
}

TEST(SglangChatReader, SaysWhatIsWrongWhereTheReferenceFails) {
  EXPECT_EQ(message_of(read_chat(R"({"choices":[]})")),
            "the reply has no choice: `choices` is an empty array");
  EXPECT_EQ(message_of(read_chat(R"({"choices":null})")),
            "the reply has no choice: `choices` is null");
  EXPECT_EQ(message_of(read_chat(ChatReply{.logprobs = "null"}.text())),
            "meta_info.output_token_logprobs of the reply is null, not a list");
  EXPECT_EQ(message_of(read_chat(ChatReply{.completion_tokens = "null"}.text())),
            "meta_info of the reply has no number of completion_tokens");
  for (const std::string_view element : {"[null,11]", "[-1]", "7", "[-1,-11]", "[-1,\"a\"]",
                                         "[-1,4294967296]", "[1e999,11]", "[\"x\",11]"}) {
    const std::string message =
        message_of(read_chat(ChatReply{.logprobs = fmt::format("[[-1,10],{}]", element)}.text()));
    EXPECT_TRUE(
        message.starts_with("meta_info of the reply: element 1 of output_token_logprobs is "
                            "not [log-probability, token id]: "))
        << element << ": " << message;
  }
}

TEST(SglangChatReader, SaysWhereTheReplyIsNoJson) {
  const std::string whole = ChatReply{}.text();
  EXPECT_EQ(message_of(read_chat("")), "the reply ends within its JSON, after 0 bytes");
  EXPECT_EQ(message_of(read_chat(whole.substr(0, 100))),
            "the reply ends within its JSON, after 100 bytes");
  EXPECT_EQ(message_of(read_chat("<html>")),
            "the reply is no JSON object, or one that is nested more than 128 deep: it goes wrong "
            "in the 6 bytes up to byte 6");
  EXPECT_EQ(message_of(read_chat("[1]")), "the reply is an array, not an object");
  EXPECT_EQ(message_of(read_chat(R"({"a":tru})")),
            "the reply is no JSON (without its rows): syntax error at byte 6");
}

TEST(SglangChatReader, SaysWhatTheServerReports) {
  EXPECT_EQ(message_of(read_chat(R"({"object":"error","message":"too long","code":400})")),
            "the server reports an error in place of an answer: too long");
  EXPECT_EQ(message_of(read_chat(R"({"error":{"message":"gone"}})")),
            "the server reports an error in place of an answer: gone");
}

TEST(SglangChatReader, SaysWhatIsWrongWithRows) {
  const auto message = [](std::string_view rows) {
    const ChatReply chat{.meta_info = fmt::format(R"(,"routed_experts":{})", rows)};
    return message_of(read_chat(chat.text()));
  };
  EXPECT_EQ(message(R"("!!!!")"),
            "the reply has rows that cannot be read: routed_experts: it is not base64");
  EXPECT_EQ(message(R"("AAAAAA==")"),
            "routed_experts has 1 numbers, which are not 4 rows (of 5 "
            "tokens in all, from row 0 on) of one length");
  EXPECT_EQ(message("[[1],[2,3]]"),
            "the reply has rows that cannot be read: routed_experts: its rows differ in length: "
            "row 1 has 2 numbers, those before it 1");
  EXPECT_EQ(message("[[1.5]]"),
            "the reply has rows that cannot be read: they have something other than whole numbers");
  EXPECT_EQ(message(R"({"dtype":"int16","data":"AAAA"})"),
            "routed_experts of the reply is an object, not rows as base64 or lists");
  EXPECT_EQ(message("7"), "routed_experts of the reply is a number, not rows as base64 or lists");
  EXPECT_EQ(message("[[1],[2],[3]]"),
            "routed_experts has 3 rows where 4 rows (of 5 tokens in all, "
            "from row 0 on) belong to the reply");
}

TEST(SglangChatReader, TakesNoMoreOnceAReplyCannotBeUsed) {
  const auto reader = make_turn_reader(ServerApi::kSglangChat, with_rows());
  EXPECT_TRUE(reader->take("{\"a\":"));
  EXPECT_FALSE(reader->take("]"));
  EXPECT_FALSE(reader->take("1}"));
  EXPECT_NE(message_of(reader->end()), "");
}

}  // namespace
}  // namespace windrow::session
