#include "session/samples/records_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/random.h"
#include "base/text_encoding.h"

namespace windrow::session {
namespace {

namespace json = boost::json;

std::string all_of(BodySource& body, size_t bytes_wanted) {
  std::string bytes;
  for (size_t before = 0; body.next(bytes_wanted, bytes); before = bytes.size())
    EXPECT_GT(bytes.size(), before);
  EXPECT_FALSE(body.next(bytes_wanted, bytes)) << "it stays at its end";
  return bytes;
}

std::string text_of(const std::vector<TurnPtr>& turns, RecordsBodyOptions options = {},
                    size_t bytes_wanted = 1000) {
  return all_of(*make_records_body(turns, std::move(options)), bytes_wanted);
}

std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::shared_ptr<TokenRows> rows(size_t first, std::vector<int32_t> values, size_t each) {
  auto made = std::make_shared<TokenRows>();
  made->first_row = first;
  made->values_per_row = each;
  made->values.append(values);
  return made;
}

std::shared_ptr<Turn> one_turn() {
  auto turn = std::make_shared<Turn>();
  turn->id = TurnId(1);
  turn->appended = {{.key = {}, .text = R"({"role":"user","content":"What is 1+2?"})"}};
  turn->answer.text = R"({"role":"assistant","content":"3"})";
  turn->prompt = {1, 2, 3};
  turn->sampled = {10, 11};
  turn->logprobs = {-0.125, -0.1234567891234567};
  turn->finish_reason = "stop";
  turn->figures.prompt_tokens = 3;
  turn->figures.cached_tokens = 2;
  turn->figures.weight_version = "w1";
  turn->request_members = shared(R"({"model":"m","logprobs":true,"temperature":1.0})");
  turn->reply_members = shared(
      R"({"id":"chatcmpl-1","object":"chat.completion","meta_info":{"id":"r","e2e_latency":0.5}})");
  turn->asked_at_unix_s = 1000.5;
  turn->answered_at_unix_s = 1001.25;
  return turn;
}

TEST(RecordsBody, ARecordIsTheRequestAndTheReply) {
  const auto turn = one_turn();
  turn->rows[0] = rows(0, {0, 1, 2, 3, 4, 5, 6, 7}, 2);
  EXPECT_EQ(
      text_of({turn}, {.session_id = "abc", .metadata = {{"max_trim_tokens", 0}}}),
      R"({"session_id":"abc","records":[{"timestamp":1001.25,"request_timestamp":1000.5,)"
      R"("method":"POST","path":"/v1/chat/completions","request":{"model":"m","logprobs":true,)"
      R"("temperature":1.0,"messages":[{"role":"user","content":"What is 1+2?"}],)"
      R"("input_ids":[1,2,3]},"response":{"id":"chatcmpl-1","object":"chat.completion",)"
      R"("choices":[{"index":0,"message":{"role":"assistant","content":"3"},)"
      R"("finish_reason":"stop","meta_info":{"id":"r","e2e_latency":0.5,"prompt_tokens":3,)"
      R"("cached_tokens":2,"weight_version":"w1",)"
      R"("output_token_logprobs":[[-0.125,10,null],[-0.1234567891234567,11,null]],)"
      R"("completion_tokens":2,)"
      R"("routed_experts":"AAAAAAEAAAACAAAAAwAAAAQAAAAFAAAABgAAAAcAAAA="}}]},)"
      R"("status_code":200}],"metadata":{"max_trim_tokens":0}})");
}

TEST(RecordsBody, WhatIsNotKnownIsLeftOut) {
  const auto turn = std::make_shared<Turn>();
  turn->id = TurnId(1);
  turn->answer.text = "{}";
  turn->sampled = {4};
  turn->answered_at_unix_s = 2;
  EXPECT_EQ(text_of({turn}),
            R"({"session_id":"","records":[{"timestamp":2.0,"request_timestamp":null,)"
            R"("method":"POST","path":"/v1/chat/completions","request":{"messages":[],)"
            R"("input_ids":[]},"response":{"choices":[{"index":0,"message":{},)"
            R"("finish_reason":"","meta_info":{"prompt_tokens":0,"cached_tokens":0,)"
            R"("output_token_logprobs":[[null,4,null]],"completion_tokens":1}}]},)"
            R"("status_code":200}],"metadata":{}})");
}

TEST(RecordsBody, WithoutTurnsThereIsNoRecord) {
  for (const RecordsShown shown : {RecordsShown::kNone, RecordsShown::kLast, RecordsShown::kAll})
    EXPECT_EQ(text_of({}, {.shown = shown, .session_id = "a"}, 1),
              R"({"session_id":"a","records":[],"metadata":{}})");
}

TEST(RecordsBody, MembersThatAreMadeReplaceThoseOfTheReply) {
  const auto turn = one_turn();
  turn->request_members = shared(R"({"input_ids":[9],"a":1,"messages":null})");
  turn->reply_members = shared(
      R"({"choices":[],"b":2,"meta_info":{"completion_tokens":7,"c":3,"routed_experts":"xx"}})");
  const json::value record = json::parse(text_of({turn})).at("records").at(0);
  EXPECT_EQ(json::serialize(record.at("request").at("input_ids")), "[1,2,3]");
  EXPECT_EQ(record.at("request").at("a"), 1);
  EXPECT_EQ(record.at("response").at("b"), 2);
  const json::object& meta = record.at("response").at("choices").at(0).at("meta_info").as_object();
  EXPECT_EQ(meta.at("completion_tokens"), 2);
  EXPECT_EQ(meta.at("c"), 3);
  EXPECT_FALSE(meta.contains("routed_experts"));
}

TEST(RecordsBody, RowsBeginWhereTheRequestAskedForThem) {
  const auto first = one_turn();
  first->rows[0] = rows(0, {0, 1, 2, 3}, 1);
  first->rows[1] = rows(0, {10, 11, 12, 13}, 1);
  const auto second = one_turn();
  second->id = TurnId(2);
  second->parent = TurnId(1);
  second->kept_tokens = 5;
  second->rows[0] = rows(4, {4, 5, 6, 7, 8}, 1);
  second->rows[1] = rows(4, {14, 15, 16, 17, 18}, 1);
  second->request_members = shared(R"({"routed_experts_start_len":4})");
  const auto meta_of = [](const json::value& record) {
    return record.at("response").at("choices").at(0).at("meta_info").as_object();
  };
  const json::value records = json::parse(text_of({first, second})).at("records");
  EXPECT_EQ(meta_of(records.at(0)).at("routed_experts"), "AAAAAAEAAAACAAAAAwAAAA==");
  EXPECT_EQ(meta_of(records.at(1)).at("routed_experts"), "BAAAAAUAAAAGAAAABwAAAAgAAAA=");
  EXPECT_EQ(meta_of(records.at(1)).at("indexer_topk").as_string().size(), base64_length(9UL * 4))
      << "always from the first row on";

  const auto third = one_turn();  // its rows do not reach the end
  third->id = TurnId(3);
  third->parent = TurnId(2);
  third->kept_tokens = 10;
  third->rows[0] = rows(9, {9, 10}, 1);
  const json::value last =
      json::parse(text_of({first, second, third}, {.shown = RecordsShown::kLast}));
  ASSERT_EQ(last.at("records").as_array().size(), 1U);
  EXPECT_EQ(last.at("records").at(0).at("request").at("input_ids").as_array().size(), 13U);
  EXPECT_FALSE(meta_of(last.at("records").at(0)).contains("routed_experts"));
}

// A session's tree, and its records as documents that keep everything.
struct Naive {
  std::vector<TurnPtr> turns;
  json::array records;
};

Naive random_session(Random& random, size_t count) {
  struct Conversation {
    json::array messages;
    std::vector<int32_t> tokens;
    std::vector<int32_t> rows;  // three a token but the last
  };
  Naive naive;
  std::vector<Conversation> conversations(1);
  for (size_t i = 1; i <= count; ++i) {
    const size_t parent = random.below(i);  // 0: none
    Conversation now = conversations[parent];
    const auto turn = std::make_shared<Turn>();
    turn->id = TurnId(i);
    turn->parent = TurnId(parent);
    turn->kept_tokens = now.tokens.size() - (parent > 0 ? random.below(2) : 0);
    now.tokens.resize(turn->kept_tokens);
    now.rows.resize(std::min(now.rows.size(), 3 * now.tokens.size()));
    const uint64_t messages = random.below(3);
    for (uint64_t m = 0; m < messages; ++m) {
      const json::object message = {{"role", "user"}, {"content", std::string(m * 9, 'x') + "\n"}};
      turn->appended.push_back({.key = {}, .text = json::serialize(message)});
      now.messages.push_back(message);
    }
    json::array logprobs;
    turn->prompt.resize(1 + random.below(50));
    for (int32_t& id : turn->prompt)
      id = static_cast<int32_t>(random.below(200'000));
    now.tokens.insert(now.tokens.end(), turn->prompt.begin(), turn->prompt.end());
    json::array input_ids(now.tokens.begin(), now.tokens.end());
    const uint64_t sampled = 1 + random.below(50);
    for (uint64_t t = 0; t < sampled; ++t) {
      turn->sampled.push_back(static_cast<int32_t>(random.below(200'000)));
      turn->logprobs.push_back(-static_cast<double>(random.below(1000)) / 128);
      logprobs.push_back(json::array{turn->logprobs.back(), turn->sampled.back(), nullptr});
    }
    now.tokens.insert(now.tokens.end(), turn->sampled.begin(), turn->sampled.end());
    const size_t first_row = now.rows.size() / 3;
    std::vector<int32_t> more((now.tokens.size() - 1 - first_row) * 3);
    for (int32_t& value : more)
      value = static_cast<int32_t>(random.below(300));
    now.rows.insert(now.rows.end(), more.begin(), more.end());
    turn->rows[0] = rows(first_row, more, 3);
    const json::object answer = {{"role", "assistant"}, {"content", std::to_string(i)}};
    turn->answer.text = json::serialize(answer);
    turn->finish_reason = random.chance(0.5) ? "stop" : "tool_calls";
    turn->figures.prompt_tokens = static_cast<int64_t>(input_ids.size());
    turn->answered_at_unix_s = static_cast<double>(i) + 0.5;
    turn->request_members = shared(R"({"model": "m", "tools": []})");
    turn->reply_members = shared(R"({"usage": {"total_tokens": 5}})");

    std::string encoded;
    append_base64(
        {reinterpret_cast<const char*>(now.rows.data()), now.rows.size() * sizeof(int32_t)},
        encoded);
    const json::object meta = {{"prompt_tokens", turn->figures.prompt_tokens},
                               {"cached_tokens", 0},
                               {"output_token_logprobs", logprobs},
                               {"completion_tokens", turn->sampled.size()},
                               {"routed_experts", encoded}};
    const json::object choice = {{"index", 0},
                                 {"message", answer},
                                 {"finish_reason", turn->finish_reason},
                                 {"meta_info", meta}};
    naive.records.push_back(
        {{"timestamp", turn->answered_at_unix_s},
         {"request_timestamp", nullptr},
         {"method", "POST"},
         {"path", "/v1/chat/completions"},
         {"request",
          {{"model", "m"},
           {"tools", json::array()},
           {"messages", now.messages},
           {"input_ids", input_ids}}},
         {"response", {{"usage", {{"total_tokens", 5}}}, {"choices", json::array{choice}}}},
         {"status_code", 200}});
    now.messages.push_back(answer);
    conversations.push_back(std::move(now));
    naive.turns.push_back(turn);
  }
  return naive;
}

TEST(RecordsBody, AnyPiecesGiveTheRecordsOfAServerThatKeepsEverything) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Naive naive = random_session(random, random.below(12));
    const std::string text =
        text_of(naive.turns, {.session_id = "s", .metadata = {{"a", json::array{1, 2}}}},
                1 + random.below(2000));
    const json::object expected = {
        {"session_id", "s"}, {"records", naive.records}, {"metadata", {{"a", json::array{1, 2}}}}};
    ASSERT_EQ(json::serialize(json::parse(text)), json::serialize(expected));
  }
}

TEST(RecordsBody, APieceIsAboutAsLongAsWanted) {
  Random random(1);
  const Naive naive = random_session(random, 40);
  const auto body = make_records_body(naive.turns, {});
  std::string whole;
  for (std::string piece; body->next(500, piece); piece.clear()) {
    EXPECT_LE(piece.size(), 700U);
    whole += piece;
  }
  EXPECT_GT(whole.size(), 100'000U);
}

}  // namespace
}  // namespace windrow::session
