#include "sim_upstream/stream_body.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"

namespace windrow::sim_upstream {
namespace {

namespace json = boost::json;

// What the events say, the marks of their ends taken off.
std::vector<std::string> data_of(std::string_view events) {
  std::vector<std::string> all;
  while (!events.empty()) {
    const size_t end = events.find("\n\n");
    EXPECT_TRUE(events.starts_with("data: ")) << events;
    EXPECT_NE(end, std::string_view::npos);
    if (end == std::string_view::npos) break;
    all.emplace_back(events.substr(6, end - 6));
    events.remove_prefix(end + 2);
  }
  return all;
}

ReplyFacts facts() {
  return {
      .number = 7, .created_s = 5, .model = "m", .usage = {.prompt_tokens = 3, .answer_tokens = 4}};
}

std::string spoken(std::string_view delta, std::string_view reason) {
  return fmt::format(
      R"({{"id":"chatcmpl-sim-7","object":"chat.completion.chunk","created":5,"model":"m",)"
      R"("choices":[{{{},"logprobs":null,"finish_reason":{}}}]}})",
      delta, reason);
}

TEST(StreamBody, AChatIsSpokenStepByStep) {
  StreamBody body(Endpoint::kChat, facts(), {{.text = "one two"}, {.text = "x", .cut = true}},
                  {2, 1}, false);
  EXPECT_EQ(data_of(body.next(1)),
            (std::vector<std::string>{
                spoken(R"("index":0,"delta":{"role":"assistant","content":""})", "null"),
                spoken(R"("index":0,"delta":{"content":"one"})", "null"),
                spoken(R"("index":1,"delta":{"role":"assistant","content":""})", "null"),
                spoken(R"("index":1,"delta":{"content":"x"})", "null"),
                spoken(R"("index":1,"delta":{})", R"("length")")}));
  const std::vector<std::string> rest = data_of(body.next(1));
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(json::parse(rest[0]).at("choices").at(0).at("delta").at("content"), " two");
  EXPECT_EQ(json::parse(rest[1]).at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(data_of(body.end(true).take_all()), std::vector<std::string>{"[DONE]"});
}

TEST(StreamBody, TheUsageIsItsLastEventWhereItWasAskedFor) {
  StreamBody body(Endpoint::kCompletions, facts(), {{.text = "ab"}}, {1}, true);
  const std::vector<std::string> events = data_of(body.next(1));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(json::parse(events[0]).at("object"), "text_completion");
  EXPECT_EQ(json::parse(events[0]).at("choices").at(0).at("text"), "ab");
  EXPECT_TRUE(json::parse(events[0]).at("usage").is_null());
  const std::vector<std::string> end = data_of(body.end(false).take_all());
  ASSERT_EQ(end.size(), 1U);
  EXPECT_TRUE(json::parse(end[0]).at("choices").as_array().empty());
  EXPECT_EQ(json::parse(end[0]).at("usage").at("total_tokens"), 7);
}

// However many tokens come at a time: the parts of a choice are its text, none ends in the middle
// of a character, and each choice says once why it ends.
TEST(StreamBody, ThePartsOfAChoiceAreItsText) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    std::vector<Choice> choices(1 + random.below(3));
    std::vector<int64_t> tokens;
    int64_t longest = 0;
    for (Choice& choice : choices) {
      for (uint64_t i = random.below(30); i > 0; --i)
        choice.text += random.chance(0.3) ? "日" : random.chance(0.5) ? "\"\n" : "a";
      tokens.push_back(static_cast<int64_t>(random.below(12)));
      longest = std::max(longest, tokens.back());
    }
    StreamBody body(Endpoint::kChat, facts(), choices, tokens, false);
    std::vector<std::string> texts(choices.size());
    std::vector<int> ends(choices.size());
    for (int64_t made = 0; made < longest || made == 0;) {
      const auto count = static_cast<int64_t>(1 + random.below(4));
      made += count;
      for (const std::string& data : data_of(body.next(count))) {
        const json::value event = json::parse(data);
        const json::value& choice = event.at("choices").at(0);
        const auto index = static_cast<size_t>(choice.at("index").as_int64());
        if (const json::value* text = choice.at("delta").as_object().if_contains("content")) {
          const std::string part(text->as_string());
          EXPECT_EQ(utf8_repair(part), part);
          texts.at(index) += text->as_string();
        }
        ends.at(index) += choice.at("finish_reason").is_null() ? 0 : 1;
      }
    }
    for (size_t i = 0; i < choices.size(); ++i) {
      EXPECT_EQ(texts[i], choices[i].text);
      EXPECT_EQ(ends[i], 1);
    }
  }
}

}  // namespace
}  // namespace windrow::sim_upstream
