// Readers of every kind against replies with random edits, in random pieces: each ends with a reply
// whose parts belong together, or with a clear failure. WINDROW_FUZZ_SECONDS makes it run for that
// long; otherwise the number of replies is fixed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "session/replies/testing/replies.h"
#include "session/replies/turn_reader.h"

namespace windrow::session {
namespace {

using testing::base64_ints;
using testing::base64_npy;
using testing::nested_lists;
using testing::numbers_from;

struct Whole {
  ServerApi api = ServerApi::kSglangChat;
  bool streamed = false;
  std::string text;
};

// 3 tokens were sent and 2 are sampled; rows of 4 numbers.
std::vector<Whole> whole_replies() {
  const std::string ints = base64_ints(numbers_from(0, 16));
  const std::string npy = base64_npy(numbers_from(0, 16), "|u1", "(4, 2, 2)");
  const std::string logprobs = R"([[-0.25,10,"a"],[-0.5,11,"b"]])";
  const std::string scores = R"({"token_logprobs":[-0.25,-0.5],"tokens":["a","b"]})";
  std::vector<Whole> replies;
  for (const std::string& rows :
       {fmt::format("\"{}\"", ints), nested_lists(numbers_from(0, 16), 2, 2)}) {
    replies.push_back({.api = ServerApi::kSglangChat,
                       .text = fmt::format(
                           R"({{"choices":[{{"message":{{"content":"ab"}},"finish_reason":"stop",)"
                           R"("meta_info":{{"completion_tokens":2,"output_token_logprobs":{},)"
                           R"("routed_experts":{}}}}}],"sglext":{{"routed_experts":{}}}}})",
                           logprobs, rows, rows)});
  }
  const std::string generated =
      fmt::format(R"({{"output_ids":[10,11],"meta_info":{{"finish_reason":{{"type":"stop"}},)"
                  R"("completion_tokens":2,"output_token_logprobs":{},"routed_experts":"{}"}}}})",
                  logprobs, ints);
  replies.push_back({.api = ServerApi::kSglangGenerate, .text = generated});
  replies.push_back({.api = ServerApi::kSglangGenerate,
                     .streamed = true,
                     .text = fmt::format("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
                                         R"({"output_ids":[10],"meta_info":{"completion_tokens":1,)"
                                         R"("output_token_logprobs":[[-1,10]]}})",
                                         generated)});
  const auto completion = [&](std::string_view prompt, const std::string& rows) {
    return Whole{
        .api = ServerApi::kVllmCompletions,
        .text = fmt::format(R"({{{}"choices":[{{"token_ids":[10,11],"finish_reason":"stop",)"
                            R"("logprobs":{},"routed_experts":{}}}],"usage":)"
                            R"({{"completion_tokens":2}}}})",
                            prompt, scores, rows)};
  };
  replies.push_back(completion("", fmt::format("\"{}\"", npy)));
  replies.push_back(completion(
      fmt::format(R"("prompt_routed_experts":{},)", nested_lists(numbers_from(0, 12), 2, 2)),
      nested_lists(numbers_from(12, 4), 2, 2)));
  replies.push_back({.api = ServerApi::kVllmCompletions,
                     .streamed = true,
                     .text = "data: {\"choices\":[{\"token_ids\":[10],\"logprobs\":"
                             "{\"token_logprobs\":[-1]},\"finish_reason\":null}]}\r\n\r\n: ping\n\n"
                             "data: {\"choices\":[{\"token_ids\":[11],\"logprobs\":"
                             "{\"token_logprobs\":[-1]},\"finish_reason\":\"stop\"}]}\n\n"
                             "data: {\"choices\":[],\"usage\":{\"completion_tokens\":2}}\n\n"
                             "data: [DONE]\n\n"});
  return replies;
}

void edit(Random& random, std::string& text) {
  constexpr std::string_view kBytes = "{}[]:,\"\\u0123-.e \n\r=AD/\x01\xFF";
  for (uint64_t i = random.below(4); i > 0; --i) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(5)) {
      case 0:
        text.insert(at, 1, kBytes[random.below(kBytes.size())]);
        break;
      case 1:
        if (at < text.size()) text[at] = kBytes[random.below(kBytes.size())];
        break;
      case 2:
        text.erase(at, 1 + random.below(20));
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size() + 1), random.below(60)));
        break;
      default:
        if (random.chance(0.2)) text.resize(at);
    }
  }
}

void expect_reply_belongs_together(const TurnReply& reply, const std::string& place) {
  ASSERT_EQ(reply.tokens.size(), reply.logprobs.size()) << place;
  for (const auto& rows : reply.rows) {
    if (rows == nullptr) continue;
    ASSERT_GT(rows->values_per_row, 0) << place;
    ASSERT_EQ(rows->values.size() % rows->values_per_row, 0) << place;
    ASSERT_EQ(rows->end_row(), 3 + reply.tokens.size() - 1) << place;
  }
}

TEST(TurnReaderFuzz, EveryReplyIsReadWholeOrRefusedClearly) {
  const std::vector<Whole> replies = whole_replies();
  const SystemClock clock;
  const char* seconds = std::getenv("WINDROW_FUZZ_SECONDS");
  const TimePoint until = clock.now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 0);
  uint64_t usable = 0;
  uint64_t refused = 0;
  for (uint64_t seed = 0; seconds ? clock.now() < until : seed < 30'000; ++seed) {
    Random random(seed);
    const Whole& whole = replies[seed % replies.size()];
    std::string text = whole.text;
    edit(random, text);
    const bool holds = random.chance(0.5);
    TurnReaderOptions options;
    options.streamed = whole.streamed;
    options.prompt_tokens = 3;
    for (WantedRows& rows : options.rows) {
      rows.wanted = random.chance(0.8);
      rows.first_row = holds ? random.below(4) : 0;
      rows.values_per_row = holds ? 4 : 0;
    }
    std::vector<int32_t> streamed;
    options.on_tokens = [&](std::span<const int32_t> tokens) {
      streamed.insert(streamed.end(), tokens.begin(), tokens.end());
    };
    const auto result =
        testing::read_reply(whole.api, std::move(options), text, 1 + random.below(200));
    const std::string place = fmt::format("seed {}: {}", seed, text);
    if (const auto* reply = std::get_if<TurnReply>(&result)) {
      ++usable;
      expect_reply_belongs_together(*reply, place);
      if (whole.api != ServerApi::kSglangChat) ASSERT_EQ(streamed, reply->tokens) << place;
      if (text == whole.text) ASSERT_EQ(reply->tokens, (std::vector<int32_t>{10, 11})) << place;
    } else {
      ++refused;
      ASSERT_NE(text, whole.text) << testing::message_of(result);
      ASSERT_NE(testing::message_of(result), "") << place;
      ASSERT_FALSE(testing::message_of(result).starts_with("of another kind")) << place;
    }
  }
  EXPECT_GT(usable, 1'000) << "the edits are too wild";
  EXPECT_GT(refused, 1'000) << "the edits are too tame";
}

}  // namespace
}  // namespace windrow::session
