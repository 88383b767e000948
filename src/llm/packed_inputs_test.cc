#include "llm/packed_inputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <numeric>
#include <string_view>
#include <variant>

#include "base/random.h"
#include "llm/raw_body.h"

namespace windrow::llm {
namespace {

namespace json = boost::json;

Request embedding(std::string_view body) {
  return raw_request(Endpoint::kEmbeddings, body, json::parse(body).as_object(), {});
}

std::optional<std::string> key_of(std::string_view body) {
  return pack_key(embedding(body));
}

PackedRequest pack(const std::vector<Request>& requests) {
  std::vector<const Request*> pointers;
  pointers.reserve(requests.size());
  for (const Request& request : requests)
    pointers.push_back(&request);
  return pack_requests(pointers);
}

json::value body_of(const Outcome& outcome) {
  return json::parse(std::get<Answer>(outcome).raw);
}

Answer reply(std::string_view raw, Usage usage = {}) {
  Answer answer;
  answer.raw = raw;
  answer.usage = usage;
  return answer;
}

TEST(PackedInputs, AllButTheInputIsTheKey) {
  const auto key = key_of(R"({"model":"m","input":"a","dimensions":8})");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, key_of(R"({"model": "m", "input": "another", "dimensions": 8})"));
  EXPECT_EQ(key, key_of(R"({"model":"m","input":["in a list"],"dimensions":8})"));
  EXPECT_NE(key, key_of(R"({"model":"n","input":"a","dimensions":8})"));
  EXPECT_NE(key, key_of(R"({"model":"m","input":"a"})"));
  EXPECT_NE(key, key_of(R"({"model":"m","input":[1,2],"dimensions":8})"));
  EXPECT_EQ(key_of(R"({"input":[1,2]})"), key_of(R"({"input":[[3]]})"));
}

TEST(PackedInputs, WhatHasNotOneInputGoesAlone) {
  for (const std::string_view body :
       {R"({"model":"m"})", R"({"input":null})", R"({"input":["a","b"]})", R"({"input":[]})",
        R"({"input":[[1],[2]]})", R"({"input":{"text":"a"}})", R"({"input":[{"text":"a"}]})",
        R"({"input":"a","input":"b"})"})
    EXPECT_EQ(key_of(body), std::nullopt) << body;
  const std::string_view chat = R"({"input":"a"})";
  EXPECT_EQ(
      pack_key(raw_request(Endpoint::kChatCompletions, chat, json::parse(chat).as_object(), {})),
      std::nullopt);
  Request verbatim = embedding(R"({"input":"a"})");
  ASSERT_NE(pack_key(verbatim), std::nullopt);
  verbatim.verbatim.emplace();
  EXPECT_EQ(pack_key(verbatim), std::nullopt);
  EXPECT_EQ(pack_key(Request{.endpoint = Endpoint::kEmbeddings, .inputs = {{.text = "a"}}}),
            std::nullopt);
}

TEST(PackedInputs, BodiesBecomeOne) {
  const PackedRequest packed = pack({embedding(R"({"model":"m","input":"a\u0041","x":1.0})"),
                                     embedding(R"({"model":"m","input":["b, c"],"x":1.0})")});
  EXPECT_EQ(packed.request.raw, R"({"model":"m","input":["a\u0041","b, c"],"x":1.0})");
  EXPECT_EQ(packed.request.model, "m");
  EXPECT_EQ(packed.request.inputs.size(), 2U);
  EXPECT_EQ(pack({embedding(R"({"input":[1, 2]})"), embedding(R"({"input":[[3]]})")}).request.raw,
            R"({"input":[[1, 2],[3]]})");
}

TEST(PackedInputs, EachGetsItsOwnByIndexAndItsShare) {
  const std::vector<int64_t> sizes = {10, 30, 0};
  const auto own = unpack_outcome(
      reply(
          R"({"object":"list","data":[{"object":"embedding","index":2,"embedding":[2.50]},)"
          R"({"index":0,"embedding":"AAAA"},{"index":1,"embedding":[1e-3]}],"model":"m",)"
          R"("usage":{"prompt_tokens":9,"total_tokens":9,"details":{"cached_tokens":4},"x":null}})",
          {.prompt_tokens = 9, .completion_tokens = 0, .cached_tokens = 4}),
      sizes);
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(std::get<Answer>(own[0]).raw,
            R"({"object":"list","data":[{"index":0,"embedding":"AAAA"}],"model":"m","usage":)"
            R"({"prompt_tokens":2,"total_tokens":2,"details":{"cached_tokens":1},"x":null}})");
  EXPECT_EQ(std::get<Answer>(own[1]).raw,
            R"({"object":"list","data":[{"index":0,"embedding":[1e-3]}],"model":"m","usage":)"
            R"({"prompt_tokens":7,"total_tokens":7,"details":{"cached_tokens":3},"x":null}})");
  EXPECT_EQ(std::get<Answer>(own[1]).usage.prompt_tokens, 7);
  EXPECT_EQ(std::get<Answer>(own[2]).usage.prompt_tokens, 0);
}

TEST(PackedInputs, AReplyThatDoesNotMatchFailsAllInputs) {
  const std::vector<int64_t> sizes = {1, 1};
  for (const std::string_view data : {
           R"([{"index":0,"embedding":[1]}])",
           R"([{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":1}])",
           R"([{"index":1,"embedding":[1]},{"index":1,"embedding":[2]}])",
           R"([{"index":0,"embedding":[1]},{"index":2,"embedding":[2]}])",
           R"([{"index":0,"embedding":[1]},{"index":-1,"embedding":[2]}])",
           R"([{"index":0,"embedding":[1]},{"embedding":[2]}])",
           R"([{"index":0,"embedding":[1]},{"index":1}])",
           R"([{"index":0,"embedding":[1]},7])",
           R"({})",
       }) {
    const auto own =
        unpack_outcome(reply(fmt::format(R"({{"data":{}}})", data), {.prompt_tokens = 6}), sizes);
    ASSERT_EQ(own.size(), 2U);
    for (const Outcome& outcome : own) {
      const auto* failure = std::get_if<Failure>(&outcome);
      ASSERT_NE(failure, nullptr) << data;
      EXPECT_EQ(failure->failure_class, FailureClass::kTransient);
      EXPECT_EQ(failure->code, "invalid_reply");
      EXPECT_EQ(failure->usage.prompt_tokens, 3);  // it was paid for
    }
  }
}

TEST(PackedInputs, AFailureIsEachOnes) {
  const Failure failure{.failure_class = FailureClass::kRequest, .code = "x"};
  const std::vector<int64_t> sizes = {1, 2, 3};
  const auto own = unpack_outcome(failure, sizes);
  ASSERT_EQ(own.size(), 3U);
  for (const Outcome& outcome : own)
    EXPECT_EQ(std::get<Failure>(outcome), failure);
}

// Replies in any order: every row gets what was made of its own input, and all tokens are counted.
TEST(PackedInputs, NothingIsMixedUpOrLost) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto rows = static_cast<size_t>(random.between(1, 40));
    std::vector<Request> requests;
    for (size_t i = 0; i < rows; ++i) {
      const std::string text(static_cast<size_t>(random.below(60)), 'x');
      requests.push_back(embedding(fmt::format(R"({{"input":"{} {}","model":"m"}})", i, text)));
    }
    const PackedRequest packed = pack(requests);
    const json::array inputs = json::parse(packed.request.raw).at("input").as_array();
    ASSERT_EQ(inputs.size(), rows);
    std::vector<size_t> order(rows);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = rows; i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random.below(i))]);
    json::array data;
    for (const size_t index : order)
      data.push_back({{"index", index}, {"embedding", {inputs[index]}}});
    const auto tokens = static_cast<int32_t>(random.below(100'000));
    const auto own = unpack_outcome(
        reply(json::serialize(json::object{{"data", data}, {"usage", {{"prompt_tokens", tokens}}}}),
              {.prompt_tokens = tokens}),
        packed.sizes);
    int64_t sum = 0;
    int64_t told = 0;
    for (size_t i = 0; i < rows; ++i) {
      const json::value body = body_of(own[i]);
      ASSERT_EQ(body.at("data").as_array().size(), 1U);
      const json::value& element = body.at("data").at(0);
      EXPECT_EQ(element.at("index").as_int64(), 0);
      EXPECT_EQ(element.at("embedding").at(0), json::parse(requests[i].raw).at("input"));
      sum += std::get<Answer>(own[i]).usage.prompt_tokens;
      told += body.at("usage").at("prompt_tokens").as_int64();
    }
    EXPECT_EQ(sum, tokens);
    EXPECT_EQ(told, tokens);
  }
}

}  // namespace
}  // namespace windrow::llm
