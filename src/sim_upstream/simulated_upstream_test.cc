#include "sim_upstream/simulated_upstream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>

#include "base/random.h"

namespace windrow::sim_upstream {
namespace {

using boost::json::parse;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{};

// 40 prompt tokens ("user\n", the text, "\n"), answers of exactly 10: 140 ms of work.
SimOptions options() {
  return {.prompt_token_time = milliseconds(1), .answer_tokens = 10, .answer_spread = 0};
}

std::string chat(std::string_view text, std::string_view more = "") {
  return fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}]{}}})", text,
                     more);
}

std::string text_of(const SimReply& reply) {
  return std::string(parse(reply.body).at("choices").at(0).at("message").at("content").as_string());
}

class Rig {
 public:
  explicit Rig(SimOptions options) : upstream(std::move(options)) {}

  SimRequestId ask(std::string_view body, TimePoint at = kStart,
                   std::string_view path = "/v1/chat/completions") {
    return upstream.arrive({.method = "POST", .path = path, .body = body}, at);
  }

  // The reply to a request that is alone.
  SimReply reply_to(std::string_view body, std::string_view path = "/v1/chat/completions",
                    std::string_view authorization = "") {
    upstream.arrive({.method = "POST", .path = path, .authorization = authorization, .body = body},
                    now);
    const std::vector<SimReply> replies = run();
    return replies.empty() ? SimReply{.status = 0} : replies.back();
  }

  // All replies to come; `times` says when.
  std::vector<SimReply> run() {
    std::vector<SimReply> all;
    while (const std::optional<TimePoint> next = upstream.next_event()) {
      now = std::max(now, *next);
      for (SimReply& reply : upstream.advance(now)) {
        times[reply.request] = now;
        all.push_back(std::move(reply));
      }
    }
    return all;
  }

  SimulatedUpstream upstream;
  TimePoint now = kStart;
  std::map<SimRequestId, TimePoint> times;
};

TEST(SimulatedUpstream, AnswersInOpenAisForm) {
  Rig rig(options());
  const SimReply reply = rig.reply_to(chat("hello"));
  const boost::json::value body = parse(reply.body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 3);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 10);
  EXPECT_EQ(body.at("usage").at("total_tokens"), 13);
  EXPECT_EQ(std::ranges::count(text_of(reply), ' '), 9);

  const boost::json::value completion = parse(
      rig.reply_to(R"({"model":"m","prompt":["a","b"],"n":2,"max_tokens":4})", "/v1/completions")
          .body);
  EXPECT_EQ(completion.at("choices").as_array().size(), 4U);
  EXPECT_EQ(completion.at("choices").at(3).at("index"), 3);
  EXPECT_EQ(completion.at("choices").at(3).at("finish_reason"), "length");
  EXPECT_EQ(completion.at("usage").at("completion_tokens"), 16);

  const boost::json::value embeddings =
      parse(rig.reply_to(R"({"model":"m","input":["a","b"]})", "/v1/embeddings").body);
  EXPECT_EQ(embeddings.at("data").at(1).at("index"), 1);
  EXPECT_EQ(embeddings.at("data").at(1).at("embedding").as_array().size(), 16U);
  const boost::json::value base64 = parse(
      rig.reply_to(R"({"model":"m","input":"a","encoding_format":"base64"})", "/v1/embeddings")
          .body);
  EXPECT_EQ(base64.at("data").at(0).at("embedding").as_string().size(), 88U);
}

TEST(SimulatedUpstream, TimeIsThatOfThePromptAndTheAnswer) {
  Rig rig(options());
  const SimRequestId request = rig.ask(chat("hello"));
  rig.run();
  EXPECT_EQ(rig.times.at(request), kStart + milliseconds(3 * 1 + 10 * 10));
}

TEST(SimulatedUpstream, SlotsAnswerTogetherAndTheRestWaits) {
  for (const int32_t slots : {1, 8}) {
    SimOptions some = options();
    some.slots = slots;
    some.prefix_blocks = 0;
    Rig rig(some);
    for (int i = 0; i < 80; ++i)
      rig.ask(chat("hello"));
    EXPECT_EQ(rig.upstream.in_flight(), 80);
    rig.run();
    EXPECT_EQ(rig.now, kStart + milliseconds(103) * (80 / slots)) << slots;
    EXPECT_EQ(rig.upstream.stats().busy_max, slots);
    EXPECT_EQ(rig.upstream.stats().waiting_max, 80 - slots);
    EXPECT_EQ(rig.upstream.stats().answered.at(200), 80);
  }
}

TEST(SimulatedUpstream, AFullQueueRefuses) {
  SimOptions small = options();
  small.slots = 2;
  small.queue_max = 3;
  Rig rig(small);
  for (int i = 0; i < 10; ++i)
    rig.ask(chat("hello"));
  rig.run();
  EXPECT_EQ(rig.upstream.stats().answered.at(200), 5);
  EXPECT_EQ(rig.upstream.stats().answered.at(503), 5);
}

TEST(SimulatedUpstream, ABeginningThatIsKnownIsNotComputedAgain) {
  Rig rig(options());
  const std::string shared(1000, 'x');
  const SimRequestId first = rig.ask(chat(shared + "one"));
  rig.run();
  const TimePoint start = rig.now;
  const SimRequestId second = rig.ask(chat(shared + "two"), start);
  const std::vector<SimReply> replies = rig.run();
  // "user\n" and 1000 bytes fill 15 blocks of 64 bytes.
  EXPECT_EQ(parse(replies[0].body).at("usage").at("prompt_tokens_details").at("cached_tokens"),
            240);
  EXPECT_EQ(rig.times[second] - start, rig.times[first] - kStart - milliseconds(240));
  EXPECT_EQ(rig.upstream.stats().prefix_hits, 1);
  EXPECT_EQ(rig.upstream.stats().cached_tokens, 240);
}

TEST(SimulatedUpstream, AClientThatLeavesGivesItsPlaceToOthers) {
  SimOptions serial = options();
  serial.slots = 1;
  Rig rig(serial);
  const SimRequestId first = rig.ask(chat("hello"));
  const SimRequestId second = rig.ask(chat("hello"));
  const SimRequestId third = rig.ask(chat("hello"));
  rig.upstream.leave(first, kStart + milliseconds(50));
  rig.upstream.leave(third, kStart + milliseconds(50));
  rig.upstream.leave(third, kStart + milliseconds(50));
  rig.run();
  EXPECT_EQ(rig.times.size(), 1U);
  EXPECT_EQ(rig.times.at(second), kStart + milliseconds(50 + 103));
  EXPECT_EQ(rig.upstream.stats().left, 2);
  EXPECT_EQ(rig.upstream.in_flight(), 0);
}

TEST(SimulatedUpstream, MetricsShowItsMemoryAndCountNoRequest) {
  SimOptions small = options();
  small.slots = 2;
  small.context_tokens = 100;
  Rig rig(small);
  const auto line_at = [&](TimePoint at, std::string_view name) {
    rig.upstream.arrive({.method = "GET", .path = "/metrics"}, at);
    const std::vector<SimReply> replies = rig.upstream.advance(at);
    EXPECT_EQ(replies.size(), 1U);
    const std::string& body = replies.back().body;
    const size_t begin = body.find(fmt::format("\n{}{{", name)) + 1;
    return body.substr(begin, body.find('\n', begin) - begin);
  };
  const std::string used = "vllm:kv_cache_usage_perc";
  const std::string prefix = used + "{model_name=\"sim\"} ";
  EXPECT_EQ(line_at(kStart, used), prefix + "0");
  // 40 + 10 tokens each, of 200; the third waits.
  const std::string text(154, 'x');
  const SimRequestId first = rig.ask(chat(text));
  rig.ask(chat("y" + text.substr(1)));
  rig.ask(chat("z" + text.substr(1)));
  EXPECT_EQ(line_at(kStart, used), prefix + "0.5");
  rig.upstream.leave(first, kStart + milliseconds(50));
  EXPECT_EQ(line_at(kStart + milliseconds(50), used), prefix + "0.5");
  rig.run();
  EXPECT_EQ(line_at(rig.now, used), prefix + "0");
  EXPECT_EQ(rig.upstream.stats().requests, 3);
  EXPECT_EQ(rig.upstream.stats().answered.at(200), 2);
  EXPECT_EQ(rig.upstream.stats().in_flight_max, 3);
}

TEST(SimulatedUpstream, KeysModelsAndContextsAreChecked) {
  SimOptions strict = options();
  strict.key = "secret";
  strict.models = {"small", "large"};
  strict.context_tokens = 100;
  Rig rig(strict);
  EXPECT_EQ(rig.reply_to(chat("a")).status, 401);
  EXPECT_EQ(rig.reply_to(chat("a"), "/v1/chat/completions", "Bearer wrong").status, 401);
  const SimReply wrong = rig.reply_to(chat("a"), "/v1/chat/completions", "Bearer secret");
  EXPECT_EQ(wrong.status, 404);
  EXPECT_NE(wrong.body.find("small, large"), std::string::npos);
  EXPECT_EQ(parse(wrong.body).at("error").at("code"), "model_not_found");
  const std::string prompt(300, 'x');
  const auto small = [&](int64_t tokens) {
    return rig.reply_to(
        fmt::format(R"({{"model":"small","prompt":"{}","max_tokens":{}}})", prompt, tokens),
        "/v1/completions", "Bearer secret");
  };
  EXPECT_EQ(small(25).status, 200);
  EXPECT_EQ(parse(small(26).body).at("error").at("code"), "context_length_exceeded");
  EXPECT_EQ(rig.reply_to("{", "/v1/chat/completions", "Bearer secret").status, 400);
  EXPECT_EQ(rig.reply_to("", "/v1/nothing", "Bearer secret").status, 404);
  EXPECT_EQ(rig.reply_to("", "/health").status, 200);
  const boost::json::value models = parse(rig.reply_to("", "/v1/models", "Bearer secret").body);
  EXPECT_EQ(models.at("data").at(1).at("id"), "large");
}

TEST(SimulatedUpstream, OllamaTellsItsContextAndCutsPrompts) {
  SimOptions ollama = options();
  ollama.ollama = true;
  ollama.context_tokens = 50;
  ollama.models = {"llama"};
  Rig rig(ollama);
  EXPECT_EQ(parse(rig.reply_to("", "/api/tags").body).at("models").at(0).at("name"), "llama");
  EXPECT_EQ(parse(rig.reply_to("", "/api/ps").body).at("models").at(0).at("context_length"), 50);
  EXPECT_EQ(parse(rig.reply_to(R"({"model":"llama"})", "/api/show").body).at("parameters"),
            "num_ctx 50");
  EXPECT_EQ(rig.reply_to(R"({"name":"other"})", "/api/show").status, 404);
  const SimReply cut =
      rig.reply_to(fmt::format(R"({{"model":"llama","prompt":"{}"}})", std::string(4000, 'x')),
                   "/v1/completions");
  EXPECT_EQ(cut.status, 200);
  // Four tokens stay, and the end, so that half of the rest is free.
  EXPECT_EQ(parse(cut.body).at("usage").at("prompt_tokens"), 27);
  const SimReply whole =
      rig.reply_to(fmt::format(R"({{"model":"llama","prompt":"{}"}})", std::string(196, 'x')),
                   "/v1/completions");
  EXPECT_EQ(parse(whole.body).at("usage").at("prompt_tokens"), 49);
  const SimReply embedded = rig.reply_to(
      fmt::format(R"({{"model":"llama","input":"{}"}})", std::string(4000, 'x')), "/v1/embeddings");
  EXPECT_EQ(parse(embedded.body).at("usage").at("prompt_tokens"), 50);
  EXPECT_EQ(rig.reply_to(R"({"model":"llama"})", "/api/generate").status, 200);
  EXPECT_EQ(rig.reply_to(R"({"model":"other"})", "/api/generate").status, 404);
  EXPECT_EQ(Rig(options()).reply_to("", "/api/ps").status, 404);
}

TEST(SimulatedUpstream, AQuotaIsToldAndKept) {
  SimOptions limited = options();
  limited.requests_per_minute = 60;
  limited.limit_headers = LimitHeaders::kRateLimit;
  limited.request_time = {};
  Rig rig(limited);
  for (int i = 0; i < 61; ++i)
    rig.ask(chat("hello"));
  std::vector<SimReply> replies = rig.upstream.advance(kStart);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].status, 429);
  EXPECT_EQ(replies[0].headers.get("x-ratelimit-limit-requests"), "60");
  EXPECT_EQ(replies[0].headers.get("x-ratelimit-remaining-requests"), "0");
  EXPECT_EQ(replies[0].headers.get("x-ratelimit-reset-requests"), "1s");
  replies = rig.run();
  EXPECT_EQ(replies.size(), 60U);
  EXPECT_EQ(replies.back().headers.get("x-ratelimit-remaining-requests"), "1");
  EXPECT_EQ(rig.reply_to(chat("later")).status, 200);
}

TEST(SimulatedUpstream, TokensHaveAQuotaToo) {
  SimOptions limited = options();
  limited.tokens_per_minute = 600;
  Rig rig(limited);
  const std::string body = chat(std::string(2000 - 6, 'x'));  // 500 tokens
  EXPECT_EQ(rig.reply_to(body).status, 200);
  const SimReply refused = rig.reply_to(body);
  EXPECT_EQ(refused.status, 429);
  // 100 tokens were left and half a second has given 6 more.
  EXPECT_EQ(refused.headers.get("Retry-After"), "40");
}

SimOptions faulty(std::string_view fault) {
  SimOptions some = options();
  some.faults = {*parse_fault(fault)};
  return some;
}

TEST(SimulatedUpstream, AStormOf429SaysWhenItIsOver) {
  Rig rig(faulty("429=1:2s"));
  rig.ask(chat("a"));
  rig.ask(chat("a"), kStart + milliseconds(1500));
  const std::vector<SimReply> replies = rig.upstream.advance(kStart + milliseconds(1500));
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0].headers.get("Retry-After"), "2");
  EXPECT_EQ(replies[1].headers.get("Retry-After"), "1");
  EXPECT_EQ(rig.upstream.stats().fault_count(FaultKind::kRateLimit), 2);
  SimOptions silent = faulty("429=1");
  silent.limit_headers = LimitHeaders::kNone;
  EXPECT_TRUE(Rig(silent).reply_to(chat("a")).headers.empty());
}

TEST(SimulatedUpstream, FaultsOfTheReply) {
  EXPECT_GE(Rig(faulty("5xx=1")).reply_to(chat("a")).status, 500);
  EXPECT_EQ(Rig(faulty("500=1")).reply_to(chat("a")).status, 500);
  EXPECT_EQ(Rig(faulty("502=1")).reply_to(chat("a")).status, 502);
  EXPECT_EQ(Rig(faulty("503=1")).reply_to(chat("a")).status, 503);
  EXPECT_EQ(Rig(faulty("reset=1")).reply_to(chat("a")).delivery, Delivery::kReset);
  const SimReply slow = Rig(faulty("slow-body=1:3s")).reply_to(chat("a"));
  EXPECT_EQ(slow.delivery, Delivery::kSlow);
  EXPECT_EQ(slow.body_time, Duration(seconds(3)));
  const SimReply cut = Rig(faulty("truncated=1")).reply_to(chat("a"));
  EXPECT_EQ(cut.status, 200);
  boost::system::error_code error;
  parse(cut.body, error);
  EXPECT_TRUE(error.failed());
  const SimReply page = Rig(faulty("content-type=1")).reply_to(chat("a"));
  EXPECT_EQ(page.content_type, "text/html");
  EXPECT_EQ(page.status, 200);
}

TEST(SimulatedUpstream, AStalledRequestIsLateOrNeverAnswered) {
  Rig late(faulty("stall=1:30s"));
  const SimRequestId request = late.ask(chat("hello"));
  late.run();
  EXPECT_EQ(late.times.at(request), kStart + milliseconds(103) + seconds(30));

  Rig never(faulty("stall=1"));
  const SimRequestId lost = never.ask(chat("hello"));
  EXPECT_TRUE(never.run().empty());
  EXPECT_EQ(never.upstream.in_flight(), 1);
  never.upstream.leave(lost, never.now);
  EXPECT_EQ(never.upstream.in_flight(), 0);
  EXPECT_EQ(never.upstream.stats().fault_count(FaultKind::kStall), 1);
}

TEST(SimulatedUpstream, SwappedRequestsGetEachOthersAnswer) {
  SimOptions swapping = faulty("swapped=1");
  swapping.answer = AnswerKind::kEcho;
  Rig rig(swapping);
  const SimRequestId first = rig.ask(chat("first"));
  const SimRequestId second = rig.ask(chat("the second"));
  const SimRequestId third = rig.ask(chat("the third one"));
  std::map<SimRequestId, std::string> texts;
  for (const SimReply& reply : rig.run())
    texts[reply.request] = text_of(reply);
  EXPECT_EQ(texts[first], "the second");
  EXPECT_EQ(texts[second], "first");
  EXPECT_EQ(texts[third], "the third one");  // no request was left to swap with
  EXPECT_EQ(rig.upstream.stats().fault_count(FaultKind::kSwapped), 2);
}

TEST(SimulatedUpstream, JsonComesInAnotherShapeWhereItWasAskedFor) {
  Rig rig(faulty("schema=1"));
  const std::string object = R"({"properties":{"a":{"type":"integer"}},"required":["a"]})";
  const auto asking = [&](const std::string& schema) {
    return chat("hi", R"(,"response_format":{"type":"json_schema","json_schema":{"schema":)" +
                          schema + "}}");
  };
  EXPECT_TRUE(parse(text_of(rig.reply_to(asking(object)))).is_array());
  EXPECT_TRUE(parse(text_of(rig.reply_to(asking(R"({"type":"integer"})")))).is_object());
  EXPECT_TRUE(parse(text_of(rig.reply_to(chat("hi", R"(,"guided_json":)" + object)))).is_array());
  EXPECT_EQ(rig.upstream.stats().fault_count(FaultKind::kSchema), 3);
  rig.reply_to(chat("hi"));
  EXPECT_EQ(rig.upstream.stats().fault_count(FaultKind::kSchema), 3) << "text has no shape";
}

TEST(SimulatedUpstream, ReadsTheSameHoweverOftenOneLooks) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimOptions some = options();
    some.seed = seed;
    some.answer_spread = 1;
    some.knee = 2;
    for (const char* fault : {"stall=0.1:1s", "swapped=0.2", "429=0.05:300ms"})
      some.faults.push_back(*parse_fault(fault));
    const auto run = [&](bool looking) {
      Random random(seed);
      Rig rig(some);
      std::string seen;
      TimePoint at = kStart;
      const auto look = [&](TimePoint now) {
        for (const SimReply& reply : rig.upstream.advance(now))
          seen += fmt::format("{} {} {}\n", reply.request.value(), reply.status, reply.body);
      };
      for (int i = 0; i < 200; ++i) {
        const TimePoint next = at + milliseconds(random.between(0, 60));
        while (looking && at < next) {
          look(at);
          at += milliseconds(1);
        }
        at = next;
        rig.ask(chat(fmt::format("prompt {}", random.below(50))), at);
      }
      look(at + seconds(1000));
      return seen;
    };
    EXPECT_EQ(run(false), run(true)) << "seed " << seed;
  }
}

TEST(SimulatedUpstream, EveryRequestIsAnsweredOnce) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    SimOptions some = options();
    some.seed = seed;
    some.slots = static_cast<int32_t>(random.between(1, 8));
    some.queue_max = static_cast<int32_t>(random.between(0, 20));
    for (const char* fault :
         {"429=0.1:100ms", "5xx=0.1", "stall=0.1:1s", "reset=0.1", "slow-body=0.1", "truncated=0.1",
          "content-type=0.1", "swapped=0.1", "schema=0.1"})
      some.faults.push_back(*parse_fault(fault));
    Rig rig(some);
    std::map<SimRequestId, int> answers;
    int64_t left = 0;
    TimePoint at = kStart;
    for (int i = 0; i < 500; ++i) {
      at += milliseconds(random.between(0, 40));
      const SimRequestId request = rig.ask(chat(fmt::format("prompt {}", i)), at);
      answers[request] = 0;
      if (random.chance(0.1)) {
        rig.upstream.leave(request, at);
        answers[request] = 1;
        ++left;
      }
      for (const SimReply& reply : rig.upstream.advance(at))
        ++answers[reply.request];
    }
    rig.now = at;
    for (const SimReply& reply : rig.run())
      ++answers[reply.request];
    for (const auto& [request, count] : answers)
      ASSERT_EQ(count, 1) << "seed " << seed << " request " << request.value();
    EXPECT_EQ(rig.upstream.stats().left, left);
    EXPECT_EQ(rig.upstream.in_flight(), 0);
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
