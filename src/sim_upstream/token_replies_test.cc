// Replies with token ids, in the forms of SGLang and vLLM, and what faults do to them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/base64_decoder.h"
#include "sim_upstream/simulated_upstream.h"

namespace windrow::sim_upstream {
namespace {

using boost::json::array;
using boost::json::parse;
using boost::json::value;

constexpr std::string_view kChatPath = "/v1/chat/completions";
constexpr std::string_view kGenerate = "/generate";
constexpr std::string_view kCompletions = "/v1/completions";

// Answers of exactly 10 tokens; 3 layers of 2 experts of 16 for each row.
SimOptions options(std::string_view fault = "") {
  SimOptions some{.answer_tokens = 10, .answer_spread = 0};
  some.tokens = {.first_id = 100, .last_id = 199, .end_id = 7, .weight_version = "w4"};
  some.tokens.routing_layers = 3;
  some.tokens.routing_topk = 2;
  some.tokens.routing_experts = 16;
  some.tokens.indexer_layers = 1;
  some.tokens.indexer_topk = 4;
  if (!fault.empty()) some.faults = {*parse_fault(fault)};
  return some;
}

std::vector<int32_t> prompt_of(size_t tokens) {
  std::vector<int32_t> ids(tokens);
  std::iota(ids.begin(), ids.end(), 1000);
  return ids;
}

std::string chat(std::span<const int32_t> ids, std::string_view more = "") {
  return fmt::format(
      R"({{"model":"m","messages":[{{"role":"user","content":"a"}}],"input_ids":[{}],)"
      R"("logprobs":true,"return_meta_info":true,"return_routed_experts":true,)"
      R"("return_indexer_topk":true,"no_stop_trim":false{}}})",
      fmt::join(ids, ","), more);
}

std::string generate(std::span<const int32_t> ids, std::string_view more = "",
                     int64_t max_tokens = 100) {
  return fmt::format(
      R"({{"input_ids":[{}],"sampling_params":{{"max_new_tokens":{},"temperature":1.0}},)"
      R"("return_logprob":true,"return_routed_experts":true,"return_indexer_topk":true{}}})",
      fmt::join(ids, ","), max_tokens, more);
}

std::string completion(std::span<const int32_t> ids, std::string_view more = "") {
  return fmt::format(
      R"({{"model":"m","prompt":[{}],"max_tokens":100,"logprobs":0,"return_token_ids":true{}}})",
      fmt::join(ids, ","), more);
}

class Rig {
 public:
  explicit Rig(SimOptions options) : upstream(std::move(options)) {}

  // The reply to a request that is alone, all parts of a stream together.
  SimReply reply_to(std::string_view path, std::string_view body) {
    upstream.arrive({.method = "POST", .path = path, .authorization = {}, .body = body}, now);
    SimReply all;
    while (const std::optional<TimePoint> next = upstream.next_event()) {
      now = std::max(now, *next);
      for (SimReply& reply : upstream.advance(now)) {
        all.body += reply.body;
        if (reply.more) all.body += reply.more->take_all();
        all.status = reply.status;
        all.content_type = reply.content_type;
        all.delivery = reply.delivery;
      }
    }
    return all;
  }

  value json(std::string_view path, std::string_view body) {
    return parse(reply_to(path, body).body);
  }

  SimulatedUpstream upstream;
  TimePoint now{};
};

// What the events of a stream hold; "[DONE]" as a text.
std::vector<value> events_of(std::string_view body) {
  std::vector<value> events;
  for (size_t end = body.find("\n\n"); end != std::string_view::npos; end = body.find("\n\n")) {
    const std::string_view data = body.substr(6, end - 6);
    events.push_back(data == "[DONE]" ? value("[DONE]") : parse(data));
    body.remove_prefix(end + 2);
  }
  EXPECT_TRUE(body.empty());
  return events;
}

std::string decoded(const value& text) {
  std::string bytes;
  Base64Decoder decoder;
  EXPECT_TRUE(decoder.decode(std::string_view(text.as_string()), bytes) && decoder.is_whole());
  return bytes;
}

std::vector<int64_t> ids_of(const value& list) {
  std::vector<int64_t> ids;
  for (const value& one : list.as_array())
    ids.push_back(one.is_array() ? one.at(1).as_int64() : one.as_int64());
  return ids;
}

TEST(TokenReplies, AChatHasMetaInfo) {
  Rig rig(options());
  const value reply = rig.json(kChatPath, chat(prompt_of(40)));
  const value& choice = reply.at("choices").at(0);
  const value& meta = choice.at("meta_info");
  EXPECT_EQ(meta.at("prompt_tokens"), 40);
  EXPECT_EQ(meta.at("completion_tokens"), 10);
  EXPECT_EQ(meta.at("cached_tokens"), 0);
  EXPECT_EQ(meta.at("weight_version"), "w4");
  EXPECT_EQ(meta.at("finish_reason"), parse(R"({"type":"stop","matched":7})"));
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), 7);
  EXPECT_EQ(reply.at("id"), meta.at("id"));
  EXPECT_EQ(reply.at("usage").at("total_tokens"), 50);
  EXPECT_FALSE(choice.at("message").at("content").as_string().empty());

  const array& items = meta.at("output_token_logprobs").as_array();
  ASSERT_EQ(items.size(), 10U);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_LT(items[i].at(0).as_double(), 0);
    EXPECT_EQ(items[i].at(0), choice.at("logprobs").at("content").at(i).at("logprob"));
    EXPECT_TRUE(items[i].at(2).is_string());
    const int64_t id = items[i].at(1).as_int64();
    if (i < 9) EXPECT_TRUE(id >= 100 && id <= 199) << id;
  }
  EXPECT_EQ(items[9].at(1), 7);
  EXPECT_EQ(decoded(meta.at("routed_experts")).size(), size_t{49 * 3 * 2 * 4});
  EXPECT_EQ(decoded(meta.at("indexer_topk")).size(), size_t{49 * 1 * 4 * 4});
  EXPECT_EQ(meta.at("indexer_topk_num_layers"), 1);

  // Whole blocks of 16 tokens are in the cache now.
  const value again = rig.json(kChatPath, chat(prompt_of(40)));
  EXPECT_EQ(again.at("choices").at(0).at("meta_info").at("cached_tokens"), 32);
}

TEST(TokenReplies, EveryFormHasTheSameTokens) {
  Rig rig(options());
  const std::vector<int32_t> prompt = prompt_of(12);
  const value chat_reply = rig.json(kChatPath, chat(prompt));
  const value& meta = chat_reply.at("choices").at(0).at("meta_info");
  const std::vector<int64_t> ids = ids_of(meta.at("output_token_logprobs"));

  const value whole = rig.json(kGenerate, generate(prompt));
  EXPECT_EQ(ids_of(whole.at("output_ids")), ids);
  EXPECT_EQ(ids_of(whole.at("meta_info").at("output_token_logprobs")), ids);
  EXPECT_TRUE(whole.at("meta_info").at("output_token_logprobs").at(0).at(2).is_null());
  EXPECT_EQ(whole.at("meta_info").at("routed_experts"), meta.at("routed_experts"));
  EXPECT_EQ(whole.at("text"), chat_reply.at("choices").at(0).at("message").at("content"));

  const value vllm = rig.json(kCompletions, completion(prompt)).at("choices").at(0);
  EXPECT_EQ(ids_of(vllm.at("token_ids")), ids);
  EXPECT_EQ(vllm.at("prompt_token_ids").as_array().size(), 12U);
  EXPECT_EQ(vllm.at("logprobs").at("token_logprobs").at(3),
            meta.at("output_token_logprobs").at(3).at(0));
  const std::string experts = decoded(meta.at("routed_experts"));
  const std::string narrow = decoded(vllm.at("routed_experts"));
  ASSERT_EQ(narrow.size(), 128 + experts.size() / 4);
  EXPECT_NE(narrow.find("'shape': (21, 3, 2)"), std::string::npos);
  for (size_t i = 0; i < experts.size() / 4; ++i)
    ASSERT_EQ(narrow[128 + i], experts[i * 4]) << i;

  // Another server with the same seed, and one with another.
  EXPECT_EQ(ids_of(Rig(options()).json(kGenerate, generate(prompt)).at("output_ids")), ids);
  SimOptions other = options();
  other.seed = 2;
  EXPECT_NE(ids_of(Rig(other).json(kGenerate, generate(prompt)).at("output_ids")), ids);
}

TEST(TokenReplies, ALimitCutsTheAnswer) {
  Rig rig(options());
  const value reply = rig.json(kGenerate, generate(prompt_of(5), "", 4));
  EXPECT_EQ(reply.at("output_ids").as_array().size(), 4U);
  EXPECT_EQ(reply.at("meta_info").at("finish_reason"), parse(R"({"type":"length","length":4})"));
  for (const int64_t id : ids_of(reply.at("output_ids")))
    EXPECT_GE(id, 100);
}

TEST(TokenReplies, RowsBeginWhereTheRequestSays) {
  Rig rig(options());
  const std::vector<int32_t> prompt = prompt_of(20);
  const auto rows = [&](std::string_view more) {
    const value reply = rig.json(kChatPath, chat(prompt, more));
    return decoded(reply.at("choices").at(0).at("meta_info").at("routed_experts"));
  };
  const std::string all = rows("");
  EXPECT_EQ(rows(R"(,"routed_experts_start_len":20)"), all.substr(size_t{20 * 3 * 2 * 4}));
  EXPECT_EQ(rig.reply_to(kChatPath, chat(prompt, R"(,"routed_experts_start_len":21)")).status, 400);

  const value vllm =
      rig.json(kCompletions, completion(prompt, R"(,"routed_experts_prompt_start":5)"));
  EXPECT_EQ(decoded(vllm.at("choices").at(0).at("routed_experts")).size(), size_t{128 + 24 * 6});
}

TEST(TokenReplies, ThePrefixOfTheNextTurnHasTheSameRowsUnlessTheyDrift) {
  for (const bool drift : {false, true}) {
    SimOptions some = options();
    some.tokens.routing_drift = drift;
    Rig rig(some);
    std::vector<int32_t> prompt = prompt_of(20);
    const auto rows = [&](const value& reply) {
      return decoded(reply.at("meta_info").at("routed_experts"));
    };
    const value turn = rig.json(kGenerate, generate(prompt));
    for (const int64_t id : ids_of(turn.at("output_ids")))
      prompt.push_back(static_cast<int32_t>(id));
    prompt.push_back(5);
    const std::string next = rows(rig.json(kGenerate, generate(prompt)));
    EXPECT_EQ(next.starts_with(rows(turn)), !drift);
  }
}

TEST(TokenReplies, AStreamOfGenerateHasAllTokensSoFarOrTheNewOnes) {
  for (const bool incremental : {false, true}) {
    SimOptions some = options();
    some.tokens.incremental = incremental;
    some.event_tokens = 3;
    Rig rig(some);
    const std::vector<int32_t> prompt = prompt_of(12);
    const value whole = rig.json(kGenerate, generate(prompt));
    const SimReply reply = rig.reply_to(kGenerate, generate(prompt, R"(,"stream":true)"));
    EXPECT_EQ(reply.content_type, "text/event-stream");
    const std::vector<value> events = events_of(reply.body);
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events.back(), "[DONE]");
    std::vector<int64_t> ids;
    std::string text;
    for (size_t i = 0; i < 4; ++i) {
      const std::vector<int64_t> told = ids_of(events[i].at("output_ids"));
      EXPECT_EQ(told, ids_of(events[i].at("meta_info").at("output_token_logprobs")));
      if (!incremental) {
        ids.clear();
        text.clear();
      }
      ids.insert(ids.end(), told.begin(), told.end());
      text += events[i].at("text").as_string();
      EXPECT_EQ(events[i].at("meta_info").at("completion_tokens").as_int64(), std::ssize(ids));
      EXPECT_EQ(events[i].at("meta_info").at("output_token_logprobs_length").as_int64(),
                std::ssize(ids));
      EXPECT_EQ(events[i].at("meta_info").at("finish_reason").is_null(), i < 3);
      EXPECT_EQ(events[i].at("meta_info").as_object().contains("routed_experts"), i == 3);
    }
    EXPECT_EQ(ids, ids_of(whole.at("output_ids")));
    EXPECT_EQ(std::string_view(whole.at("text").as_string()), text);
    EXPECT_EQ(events[3].at("meta_info").at("routed_experts"),
              whole.at("meta_info").at("routed_experts"));
  }
}

TEST(TokenReplies, AStreamOfACompletionHasTheNewTokens) {
  SimOptions some = options();
  some.event_tokens = 4;
  Rig rig(some);
  const std::vector<int32_t> prompt = prompt_of(12);
  const value whole = rig.json(kCompletions, completion(prompt)).at("choices").at(0);
  const std::vector<value> events = events_of(
      rig.reply_to(kCompletions,
                   completion(prompt, R"(,"stream":true,"stream_options":{"include_usage":true})"))
          .body);
  ASSERT_EQ(events.size(), 5U);
  std::vector<int64_t> ids;
  array logprobs;
  std::string text;
  for (size_t i = 0; i < 3; ++i) {
    const value& choice = events[i].at("choices").at(0);
    for (const int64_t id : ids_of(choice.at("token_ids")))
      ids.push_back(id);
    for (const value& number : choice.at("logprobs").at("token_logprobs").as_array())
      logprobs.push_back(number);
    text += choice.at("text").as_string();
    EXPECT_EQ(choice.at("prompt_token_ids").is_null(), i > 0);
    EXPECT_EQ(choice.at("finish_reason").is_null(), i < 2);
    EXPECT_FALSE(choice.as_object().contains("routed_experts"));
  }
  EXPECT_EQ(ids, ids_of(whole.at("token_ids")));
  EXPECT_EQ(whole.at("logprobs").at("token_logprobs"), value(logprobs));
  EXPECT_EQ(std::string_view(whole.at("text").as_string()), text);
  EXPECT_EQ(events[3].at("usage").at("completion_tokens"), 10);
  EXPECT_EQ(events[4], "[DONE]");
}

TEST(TokenReplies, RowsAreToldOnlyWhereThereAreSome) {
  SimOptions none = options();
  none.tokens.routing_layers = 0;
  none.tokens.indexer_layers = 0;
  Rig rig(none);
  const value reply = rig.json(kGenerate, generate(prompt_of(5)));
  EXPECT_FALSE(reply.at("meta_info").as_object().contains("routed_experts"));
  EXPECT_FALSE(reply.at("meta_info").as_object().contains("indexer_topk"));
  EXPECT_TRUE(rig.json(kCompletions, completion(prompt_of(5)))
                  .at("choices")
                  .at(0)
                  .at("routed_experts")
                  .is_null());

  SimOptions twice = options();
  twice.tokens.routing_twice = true;
  const value chat_reply = Rig(twice).json(kChatPath, chat(prompt_of(5)));
  EXPECT_EQ(chat_reply.at("sglext").at("routed_experts"),
            chat_reply.at("choices").at(0).at("meta_info").at("routed_experts"));
}

TEST(TokenReplies, WhatAServerWouldRefuseIsRefused) {
  Rig rig(options());
  const auto refused = [&](std::string_view path, std::string_view body) {
    const SimReply reply = rig.reply_to(path, body);
    EXPECT_EQ(reply.status, 400) << body;
    return std::string(parse(reply.body).at("error").at("message").as_string());
  };
  EXPECT_EQ(refused(kChatPath, chat(prompt_of(3), R"(,"stream":true)")),
            "return_meta_info is not supported with streaming. Please set stream=false when using "
            "return_meta_info=true.");
  EXPECT_EQ(refused(kGenerate, "{}"), "Either text, input_ids or input_embeds should be provided.");
  EXPECT_EQ(refused(kGenerate, R"({"input_ids":[]})"), "input_ids cannot be empty.");
  EXPECT_EQ(refused(kGenerate, R"({"input_ids":[1,-2]})"),
            "input_ids[1] is -2; a token id is a whole number from 0 on");
  EXPECT_EQ(refused(kGenerate, R"({"input_ids":[1],"sampling_params":{"n":2}})"),
            "n is 2; it must be a whole number from 1 to 1");
  EXPECT_EQ(refused(kCompletions, R"({"model":"m","prompt":[1,2.5]})"),
            "prompt[1] is 2.5E0; a token id is a whole number from 0 on");
}

// The reply to a request that a fault strikes for certain.
SimReply struck(std::string_view fault, std::string_view path, std::string_view body) {
  Rig rig(options(fault));
  SimReply reply = rig.reply_to(path, body);
  EXPECT_EQ(rig.upstream.stats().fault_count(parse_fault(fault)->kind), 1) << fault;
  return reply;
}

TEST(TokenReplies, FaultsOfWhatTokensAreTold) {
  const std::vector<int32_t> prompt = prompt_of(6);
  const auto meta_of = [&](std::string_view fault) {
    return parse(struck(fault, kGenerate, generate(prompt)).body).at("meta_info");
  };
  EXPECT_EQ(meta_of("logprob-count=1").at("output_token_logprobs").as_array().size(), 9U);
  EXPECT_EQ(meta_of("logprob-count=1").at("completion_tokens"), 10);
  EXPECT_EQ(decoded(meta_of("few-rows=1").at("routed_experts")).size(), size_t{14 * 24});
  EXPECT_NE(meta_of("bad-base64=1").at("routed_experts").as_string().find('*'),
            boost::json::string::npos);
  EXPECT_FALSE(parse(struck("no-tokens=1", kChatPath, chat(prompt)).body)
                   .at("choices")
                   .at(0)
                   .as_object()
                   .contains("meta_info"));
  EXPECT_TRUE(parse(struck("no-tokens=1", kCompletions, completion(prompt)).body)
                  .at("choices")
                  .at(0)
                  .at("token_ids")
                  .is_null());
  EXPECT_EQ(parse(struck("logprob-count=1", kCompletions, completion(prompt)).body)
                .at("choices")
                .at(0)
                .at("logprobs")
                .at("token_logprobs")
                .as_array()
                .size(),
            9U);
  EXPECT_TRUE(parse(struck("null-content=1", kChatPath, chat(prompt)).body)
                  .at("choices")
                  .at(0)
                  .at("message")
                  .at("content")
                  .is_null());
}

TEST(TokenReplies, FaultsOfBodies) {
  const std::vector<int32_t> prompt = prompt_of(6);
  const size_t whole = Rig(options()).reply_to(kChatPath, chat(prompt)).body.size();
  const SimReply cut = struck("truncated=1", kChatPath, chat(prompt));
  EXPECT_LT(cut.body.size(), whole);
  boost::system::error_code error;
  parse(cut.body, error);
  EXPECT_TRUE(error);
  EXPECT_EQ(struck("reset=1", kChatPath, chat(prompt)).delivery, Delivery::kReset);
  EXPECT_EQ(struck("slow-body=1", kChatPath, chat(prompt)).body.size(), whole);

  for (const std::string_view more : {"", R"(,"stream":true)"}) {
    const SimReply garbage = struck("not-json=1", kGenerate, generate(prompt, more));
    EXPECT_EQ(garbage.status, 200);
    EXPECT_EQ(garbage.content_type, "application/json");
    parse(garbage.body, error);
    EXPECT_TRUE(error);
    const SimReply failed = struck("error-200=1", kGenerate, generate(prompt, more));
    EXPECT_EQ(failed.status, 200);
    EXPECT_TRUE(parse(failed.body).as_object().contains("error"));
  }

  const SimReply open = struck("no-end=1", kGenerate, generate(prompt, R"(,"stream":true)"));
  const std::vector<value> events = events_of(open.body);
  EXPECT_EQ(events.size(), 5U);
  EXPECT_TRUE(events.back().at("meta_info").at("finish_reason").is_null());
  EXPECT_EQ(open.delivery, Delivery::kLast);
}

TEST(TokenReplies, RefusalsAreJsonOrText) {
  const std::vector<int32_t> prompt = prompt_of(6);
  for (const auto& [fault, status] : {std::pair("400=1", 400), {"429=1", 429}, {"500=1", 500}}) {
    const SimReply json = struck(fault, kGenerate, generate(prompt));
    EXPECT_EQ(json.status, status);
    EXPECT_TRUE(parse(json.body).as_object().contains("error"));
    const std::string plain = fmt::format("{}-text=1", status);
    const SimReply text = struck(plain, kGenerate, generate(prompt));
    EXPECT_EQ(text.status, status);
    EXPECT_EQ(text.content_type, "text/plain");
    boost::system::error_code error;
    parse(text.body, error);
    EXPECT_TRUE(error);
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
