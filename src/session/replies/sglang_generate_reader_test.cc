// Replies of SGLang's /generate, whole and streamed.
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

using testing::base64_ints;
using testing::message_of;
using testing::numbers_from;
using testing::numbers_of;
using testing::token_logprobs;

using Result = std::variant<TurnReply, llm::Failure>;

constexpr std::string_view kStop = R"({"type":"stop","matched":2})";

// One object: tokens with log-probabilities -token / 8, and more members of meta_info.
std::string object(std::vector<int32_t> tokens, size_t completion_tokens,
                   std::string_view finish = "null", std::string_view more = "") {
  std::vector<double> logprobs;
  for (const int32_t token : tokens)
    logprobs.push_back(-token / 8.0);
  return fmt::format(
      R"({{"text":"abc","output_ids":[{}],"meta_info":{{"id":"r","finish_reason":{},)"
      R"("prompt_tokens":3,"weight_version":"w","input_token_logprobs":[],)"
      R"("output_token_logprobs":{},"completion_tokens":{},"cached_tokens":1{}}}}})",
      fmt::join(tokens, ","), finish, token_logprobs(tokens, logprobs), completion_tokens, more);
}

std::string events(const std::vector<std::string>& objects) {
  std::string text;
  for (const std::string& object : objects)
    text += "data: " + object + "\n\n";
  return text;
}
const std::string kDone = "data: [DONE]\n\n";

struct Read {
  Result result;
  std::vector<int32_t> streamed;  // what on_tokens got
  size_t calls = 0;
};

Read read_generated(std::string_view text, bool streamed, size_t piece_bytes = 1 << 16,
                    WantedRows rows = {.wanted = true}) {
  Read read;
  TurnReaderOptions options;
  options.streamed = streamed;
  options.prompt_tokens = 3;
  options.rows[0] = rows;
  options.on_tokens = [&](std::span<const int32_t> tokens) {
    read.streamed.insert(read.streamed.end(), tokens.begin(), tokens.end());
    ++read.calls;
  };
  read.result =
      testing::read_reply(ServerApi::kSglangGenerate, std::move(options), text, piece_bytes);
  return read;
}

const TurnReply& reply_of(const Read& read) {
  static const TurnReply kNone;
  EXPECT_EQ(message_of(read.result), "");
  const auto* reply = std::get_if<TurnReply>(&read.result);
  return reply == nullptr ? kNone : *reply;
}

std::string rows_member(size_t numbers) {
  return fmt::format(R"(,"routed_experts":"{}")", base64_ints(numbers_from(0, numbers)));
}

TEST(SglangGenerateReader, ReadsAWholeReply) {
  for (const size_t piece : {1UL, 9UL, 100'000UL}) {
    const Read read = read_generated(object({8, 16, 2}, 3, kStop, rows_member(10)), false, piece);
    const TurnReply& reply = reply_of(read);
    // The end token is among the tokens, as the server lists them.
    EXPECT_EQ(reply.tokens, (std::vector<int32_t>{8, 16, 2}));
    EXPECT_EQ(reply.logprobs, (std::vector<double>{-1, -2, -0.25}));
    EXPECT_EQ(reply.finish_reason, "stop");
    EXPECT_EQ(reply.figures.prompt_tokens, 3);
    EXPECT_EQ(reply.figures.cached_tokens, 1);
    EXPECT_EQ(reply.figures.weight_version, "w");
    EXPECT_TRUE(reply.chat.empty());
    ASSERT_NE(reply.rows[0], nullptr);
    EXPECT_EQ(numbers_of(*reply.rows[0]), numbers_from(0, 10));
    EXPECT_EQ(
        boost::json::serialize(reply.members),
        R"({"meta_info":{"id":"r","finish_reason":{"type":"stop","matched":2},)"
        R"("prompt_tokens":3,"weight_version":"w","completion_tokens":3,"cached_tokens":1}})");
  }
}

TEST(SglangGenerateReader, TokensMayBeInTheLogProbabilitiesAlone) {
  const Read read =
      read_generated(R"({"meta_info":{"finish_reason":{"type":"length","length":1},)"
                     R"("output_token_logprobs":[[-0.5,7,"a"]],"completion_tokens":1}})",
                     false);
  EXPECT_EQ(reply_of(read).tokens, std::vector<int32_t>{7});
  EXPECT_EQ(reply_of(read).finish_reason, "length");
}

TEST(SglangGenerateReader, AnAbortedReplyMayHaveNoTokens) {
  const Read read =
      read_generated(R"({"text":"","output_ids":[],"meta_info":{"completion_tokens":0,)"
                     R"("finish_reason":{"type":"abort","message":"stopped"}}})",
                     false);
  EXPECT_TRUE(reply_of(read).tokens.empty());
  EXPECT_EQ(reply_of(read).finish_reason, "abort");
}

// Both forms of a stream.
const std::vector<std::vector<std::string>> kStreams = {
    {object({8}, 1), object({8, 16}, 2), object({8, 16}, 2),
     object({8, 16, 24, 2}, 4, kStop, rows_member(12))},
    {object({8}, 1), object({16}, 2), object({}, 2), object({24, 2}, 4, kStop, rows_member(12))}};

TEST(SglangGenerateReader, ReadsStreamsOfAllTokensAndOfNewOnes) {
  for (const auto& stream : kStreams) {
    for (const size_t piece : {1UL, 50UL, 100'000UL}) {
      const Read read = read_generated(events(stream) + kDone, true, piece);
      EXPECT_EQ(reply_of(read).tokens, (std::vector<int32_t>{8, 16, 24, 2}));
      EXPECT_EQ(reply_of(read).logprobs, (std::vector<double>{-1, -2, -3, -0.25}));
      EXPECT_EQ(reply_of(read).finish_reason, "stop");
      EXPECT_EQ(read.streamed, reply_of(read).tokens);
      EXPECT_EQ(read.calls, 3);
      ASSERT_NE(reply_of(read).rows[0], nullptr);
      EXPECT_EQ(numbers_of(*reply_of(read).rows[0]), numbers_from(0, 12));
    }
  }
}

TEST(SglangGenerateReader, AStreamWithoutItsEndCannotBeUsed) {
  const std::vector<std::string>& stream = kStreams[0];
  EXPECT_EQ(message_of(read_generated(events(stream), true).result),
            "the reply is a stream without its end: after 4 events there was no `data: [DONE]`");
  const std::vector<std::string> two(stream.begin(), stream.begin() + 2);
  EXPECT_EQ(message_of(read_generated(events(two) + kDone, true).result),
            "the reply ends without a finish_reason in meta_info, after 2 tokens in 2 events");
  EXPECT_EQ(message_of(read_generated("", true).result),
            "the reply is a stream without its end: after 0 events there was no `data: [DONE]`");
  EXPECT_EQ(message_of(read_generated("{\"error\":\"no \xff memory\"}", true).result),
            "the reply is no stream of events, though one was asked for; it begins with: "
            "{\"error\":\"no \uFFFD memory\"}");
  EXPECT_EQ(message_of(read_generated(kDone, true).result),
            "the reply ends without a finish_reason in meta_info, after 0 tokens in 0 events");
  const std::string cut = events(two);
  EXPECT_TRUE(message_of(read_generated(cut.substr(0, cut.size() - 20), true).result)
                  .starts_with("event 2 of the reply ends within its JSON, after "));
}

TEST(SglangGenerateReader, SaysWhatTheServerReportsWithinAStream) {
  const std::string text =
      events({kStreams[0][0], R"({"error":{"message":"out of memory"}})"}) + kDone;
  const Read read = read_generated(text, true);
  EXPECT_EQ(message_of(read.result),
            "the server reports an error in place of an answer: out of memory");
  EXPECT_EQ(read.streamed, std::vector<int32_t>{8});
}

TEST(SglangGenerateReader, EventsHaveToContinueOneAnother) {
  EXPECT_EQ(message_of(read_generated(events({object({8}, 1), object({9, 16}, 2)}), true).result),
            "event 2 of the reply has 2 tokens, which do not begin with the 1 of those before it");
  EXPECT_EQ(message_of(read_generated(events({object({8}, 1), object({16}, 3)}), true).result),
            "event 2 of the reply has 1 tokens behind 1 earlier ones, and completion_tokens 3");
}

TEST(SglangGenerateReader, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    return message_of(read_generated(text, false).result);
  };
  EXPECT_EQ(message("{}"), "the reply has no meta_info");
  EXPECT_EQ(message("[{}]"), "the reply is an array, not an object");
  EXPECT_EQ(message(R"({"output_ids":[1],"meta_info":{}})"),
            "the reply has no number of completion_tokens in meta_info");
  EXPECT_EQ(message(R"({"output_ids":[1],"meta_info":{"completion_tokens":1}})"),
            "the reply has 1 output_ids and no output_token_logprobs in meta_info: was "
            "return_logprob sent, and does a proxy remove them?");
  EXPECT_EQ(message(R"({"meta_info":{"completion_tokens":2}})"),
            "the reply has neither output_ids nor output_token_logprobs, and 2 tokens");
  EXPECT_EQ(message(R"({"output_ids":[1,2],"meta_info":{"completion_tokens":2,)"
                    R"("output_token_logprobs":[[-1,1]]}})"),
            "the reply has 2 output_ids and 1 output_token_logprobs");
  EXPECT_EQ(message(R"({"output_ids":[1,2],"meta_info":{"completion_tokens":2,)"
                    R"("output_token_logprobs":[[-1,1],[-1,3]]}})"),
            "the reply: output_ids has token 2 at 1, output_token_logprobs has 3");
  EXPECT_EQ(message(R"({"output_ids":[1,-2],"meta_info":{"completion_tokens":2,)"
                    R"("output_token_logprobs":[[-1,1],[-1,3]]}})"),
            "the reply: element 1 of output_ids is not a token id: -2");
  EXPECT_EQ(message(object({8}, 2)),
            "the reply has 1 tokens behind 0 earlier ones, and completion_tokens 2");
  EXPECT_EQ(message(object({8}, 1)),
            "the reply ends without a finish_reason in meta_info, after 1 tokens in 1 object");
  EXPECT_EQ(message(object({8}, 1, kStop, R"(,"routed_experts":{})")),
            "routed_experts of the reply is an object, not rows as base64 or lists");
  EXPECT_EQ(message(object({8}, 1, "{}")), "the reply has a finish_reason without a type: {}");
  EXPECT_EQ(
      message(object({8}, 1, kStop, rows_member(7))),
      "routed_experts has 7 numbers, which are not 3 rows (of 4 tokens in all, from row 0 on) "
      "of one length");
}

TEST(SglangGenerateReader, SkipsRowsThatAreHeld) {
  for (const auto& stream : kStreams) {
    const Read read = read_generated(events(stream) + kDone, true, 11,
                                     {.wanted = true, .first_row = 4, .values_per_row = 2});
    EXPECT_EQ(reply_of(read).rows[0]->first_row, 4);
    EXPECT_EQ(numbers_of(*reply_of(read).rows[0]), numbers_from(8, 4));
  }
}

}  // namespace
}  // namespace windrow::session
