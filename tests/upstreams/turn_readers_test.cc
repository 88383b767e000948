// The readers of a session's replies read what a simulated server says: every form, whole and in
// pieces, and no reply that a fault has spoiled.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "session/replies/turn_reader.h"
#include "sim_upstream/simulated_upstream.h"

namespace windrow {
namespace {

using session::RowKind;
using session::ServerApi;
using session::TurnReply;
using sim_upstream::SimOptions;
using sim_upstream::SimReply;
using sim_upstream::SimulatedUpstream;

constexpr size_t kPromptTokens = 50;
constexpr size_t kAnswerTokens = 12;
constexpr size_t kExperts = size_t{5} * 3;  // of a row
constexpr size_t kChosen = size_t{2} * 7;   // of a row of an indexer

struct Form {
  std::string_view name;
  ServerApi api;
  bool streamed;
  std::string_view path;
  std::string body;
};

std::vector<Form> forms() {
  std::vector<int32_t> ids(kPromptTokens);
  std::iota(ids.begin(), ids.end(), 300);
  const std::string list = fmt::format("[{}]", fmt::join(ids, ","));
  const std::string chat =
      fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"a"}}],"input_ids":{},)"
                  R"("logprobs":true,"return_meta_info":true,"no_stop_trim":false,)"
                  R"("return_routed_experts":true,"return_indexer_topk":true}})",
                  list);
  const auto generate = [&](bool stream) {
    return fmt::format(
        R"({{"input_ids":{},"sampling_params":{{"max_new_tokens":64}},"return_logprob":true,)"
        R"("return_routed_experts":true,"return_indexer_topk":true,"stream":{}}})",
        list, stream);
  };
  const auto completion = [&](bool stream) {
    return fmt::format(
        R"({{"model":"m","prompt":{},"max_tokens":64,"logprobs":0,"return_token_ids":true,)"
        R"("stream":{}}})",
        list, stream);
  };
  return {{"chat", ServerApi::kSglangChat, false, "/v1/chat/completions", chat},
          {"generate", ServerApi::kSglangGenerate, false, "/generate", generate(false)},
          {"generate, streamed", ServerApi::kSglangGenerate, true, "/generate", generate(true)},
          {"completion", ServerApi::kVllmCompletions, false, "/v1/completions", completion(false)},
          {"completion, streamed", ServerApi::kVllmCompletions, true, "/v1/completions",
           completion(true)}};
}

SimOptions options(bool incremental = false) {
  SimOptions some{
      .answer_tokens = kAnswerTokens, .answer_spread = 0, .event_tokens = 5, .tokens = {}};
  some.tokens.weight_version = "w7";
  some.tokens.incremental = incremental;
  some.tokens.routing_layers = 5;
  some.tokens.routing_topk = 3;
  some.tokens.routing_twice = true;
  some.tokens.indexer_layers = 2;
  some.tokens.indexer_topk = 7;
  return some;
}

// The only reply of a new server, in the parts in which it is sent.
std::vector<std::string> said(const SimOptions& options, const Form& form, size_t piece_bytes) {
  SimulatedUpstream upstream(options);
  TimePoint now{};
  upstream.arrive({.method = "POST", .path = form.path, .authorization = {}, .body = form.body},
                  now);
  std::string all;
  while (const std::optional<TimePoint> next = upstream.next_event()) {
    now = std::max(now, *next);
    for (SimReply& reply : upstream.advance(now)) {
      EXPECT_EQ(reply.status, 200);
      all += reply.body;
      if (reply.more) all += reply.more->take_all();
    }
  }
  std::vector<std::string> pieces;
  for (size_t at = 0; at < all.size(); at += piece_bytes)
    pieces.push_back(all.substr(at, piece_bytes));
  return pieces;
}

std::variant<TurnReply, llm::Failure> read(const SimOptions& options, const Form& form,
                                           size_t piece_bytes) {
  session::TurnReaderOptions reading{
      .streamed = form.streamed, .prompt_tokens = kPromptTokens, .rows = {}, .on_tokens = {}};
  const bool experts = form.api != ServerApi::kVllmCompletions || !form.streamed;
  reading.rows[0] = {.wanted = experts};
  reading.rows[1] = {.wanted = form.api != ServerApi::kVllmCompletions};
  const std::unique_ptr<session::TurnReader> reader =
      session::make_turn_reader(form.api, std::move(reading));
  for (const std::string& piece : said(options, form, piece_bytes)) {
    if (!reader->take(piece)) break;
  }
  return reader->end();
}

std::vector<int32_t> all_values(const session::TokenRows& rows) {
  std::vector<int32_t> values(rows.values.size());
  rows.values.read(0, values);
  return values;
}

TEST(TurnReaders, EveryFormOfAServerIsReadAsTheSameTurn) {
  std::optional<TurnReply> first;
  for (const bool incremental : {false, true}) {
    for (const Form& form : forms()) {
      for (const size_t piece_bytes : {size_t{1}, size_t{1000}, size_t{1} << 20}) {
        SCOPED_TRACE(form.name);
        std::variant<TurnReply, llm::Failure> result =
            read(options(incremental), form, piece_bytes);
        ASSERT_TRUE(std::holds_alternative<TurnReply>(result))
            << std::get<llm::Failure>(result).message;
        TurnReply& reply = std::get<TurnReply>(result);
        ASSERT_EQ(reply.tokens.size(), kAnswerTokens);
        EXPECT_EQ(reply.logprobs.size(), kAnswerTokens);
        EXPECT_EQ(reply.finish_reason, "stop");
        if (!first) {
          first = std::move(reply);
          const session::TokenRows* const chosen = first->rows[1].get();
          ASSERT_TRUE(first->rows[0] && chosen);
          EXPECT_EQ(first->rows[0]->values.size(), (kPromptTokens + kAnswerTokens - 1) * kExperts);
          EXPECT_EQ(chosen->values.size(), (kPromptTokens + kAnswerTokens - 1) * kChosen);
          EXPECT_EQ(first->figures.weight_version, "w7");
          continue;
        }
        EXPECT_EQ(reply.tokens, first->tokens);
        EXPECT_EQ(reply.logprobs, first->logprobs);
        const bool streamed_vllm = form.api == ServerApi::kVllmCompletions && form.streamed;
        ASSERT_EQ(reply.rows[0] == nullptr, streamed_vllm);
        if (!streamed_vllm) EXPECT_EQ(all_values(*reply.rows[0]), all_values(*first->rows[0]));
      }
    }
  }
}

TEST(TurnReaders, NoSpoiledReplyIsRead) {
  for (const std::string_view fault :
       {"no-tokens=1", "null-content=1", "logprob-count=1", "few-rows=1", "bad-base64=1",
        "truncated=1", "not-json=1", "error-200=1", "content-type=1", "no-end=1", "stream-error=1",
        "stream-garbage=1"}) {
    for (const Form& form : forms()) {
      SCOPED_TRACE(fmt::format("{}, {}", fault, form.name));
      const sim_upstream::FaultRule rule = *sim_upstream::parse_fault(fault);
      const bool of_streams = rule.kind == sim_upstream::FaultKind::kNoEnd ||
                              rule.kind == sim_upstream::FaultKind::kStreamError ||
                              rule.kind == sim_upstream::FaultKind::kStreamGarbage;
      const bool of_rows = rule.kind == sim_upstream::FaultKind::kFewRows ||
                           rule.kind == sim_upstream::FaultKind::kBadBase64;
      if (of_streams && !form.streamed) continue;
      if (of_rows && form.streamed && form.api == ServerApi::kVllmCompletions) continue;
      if (rule.kind == sim_upstream::FaultKind::kNullContent && form.api != ServerApi::kSglangChat)
        continue;
      SimOptions some = options();
      some.faults = {rule};
      const std::variant<TurnReply, llm::Failure> result = read(some, form, 1000);
      ASSERT_TRUE(std::holds_alternative<llm::Failure>(result));
      EXPECT_EQ(std::get<llm::Failure>(result).code, "unusable_reply");
      EXPECT_FALSE(std::get<llm::Failure>(result).message.empty());
    }
  }
}

}  // namespace
}  // namespace windrow
