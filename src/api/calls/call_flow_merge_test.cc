// CallFlow with a real stream and answers cut by chance, for clients that read at their own pace:
// whatever becomes one event, the stream says what the whole reply says, in the order in which it
// was made. The same of other dialects is in wire/streams_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/calls/call_flow.h"
#include "api/testing/events.h"
#include "api/wire/stream_text.h"
#include "base/random.h"
#include "llm/answer_json.h"

namespace windrow::api {
namespace {

namespace json = boost::json;

// A run of thoughts, of text or of one call: "thought hm", "text a", "call f {}".
using Runs = std::vector<std::string>;

// An answer, what its choices are made of, and one way to tell it.
struct Made {
  llm::Answer answer;
  std::vector<Runs> runs;  // of each choice
  std::vector<llm::Delta> deltas;
};

std::vector<std::string> cut(Random& random, std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    parts.emplace_back(text.substr(0, 1 + random.below(5)));
    text.remove_prefix(parts.back().size());
  }
  return parts;
}

void make_choice(Random& random, int32_t index, Made& made, std::vector<llm::Delta>& deltas) {
  llm::Choice& choice = made.answer.choices.emplace_back();
  Runs& runs = made.runs.emplace_back();
  if (random.chance(0.3)) {
    choice.reasoning = "so I thought";
    runs.push_back("thought " + *choice.reasoning);
    for (const std::string& part : cut(random, *choice.reasoning))
      deltas.push_back({.choice = index, .reasoning = part});
  }
  bool texts = false;
  for (uint64_t left = random.below(6); left > 0; --left) {
    if (!texts && random.chance(0.5)) {
      const std::string text = fmt::format("words \"{}\"", left);
      texts = true;
      choice.text += text;
      runs.push_back("text " + text);
      for (const std::string& part : cut(random, text))
        deltas.push_back({.choice = index, .text = part});
      continue;
    }
    texts = false;
    const auto call = static_cast<int32_t>(choice.tool_calls.size());
    const std::string id = fmt::format("call_{}_{}", index, call);
    const std::string arguments = fmt::format(R"({{"a": {}}})", random.below(100'000));
    choice.tool_calls.push_back({.id = id, .name = "f", .arguments = arguments});
    runs.push_back(fmt::format("call {} f {}", id, arguments));
    deltas.push_back({.choice = index, .tool_calls = {{.index = call, .id = id, .name = "f"}}});
    for (const std::string& part : cut(random, arguments))
      deltas.push_back({.choice = index, .tool_calls = {{.index = call, .arguments = part}}});
  }
  choice.finish_reason =
      choice.tool_calls.empty() ? llm::FinishReason::kStop : llm::FinishReason::kToolCalls;
  deltas.push_back({.choice = index, .finish_reason = choice.finish_reason});
}

Made make(Random& random) {
  Made made;
  std::vector<std::vector<llm::Delta>> of_choices(1 + random.below(2));
  for (size_t i = 0; i < of_choices.size(); ++i)
    make_choice(random, static_cast<int32_t>(i), made, of_choices[i]);
  // Deltas of different choices are mixed; the deltas of one choice keep their order.
  std::vector<size_t> told(of_choices.size());
  for (;;) {
    std::vector<size_t> left;
    for (size_t i = 0; i < of_choices.size(); ++i) {
      if (told[i] < of_choices[i].size()) left.push_back(i);
    }
    if (left.empty()) return made;
    const size_t choice = left[random.below(left.size())];
    made.deltas.push_back(of_choices[choice][told[choice]++]);
  }
}

// A reader that believes the chunks and nothing else.
class Reader {
 public:
  explicit Reader(size_t choices) : runs_(choices), messages_(choices) {}

  void read(const std::string& events) {
    for (const std::string& event : testing::events_in(events)) {
      EXPECT_FALSE(done_) << event;
      done_ = event == "[DONE]";
      if (done_) continue;
      const json::value chunk = json::parse(event);
      for (const json::value& choice : chunk.at("choices").as_array())
        read_delta(static_cast<size_t>(choice.at("index").as_int64()), choice);
    }
  }

  bool done() const { return done_; }
  const std::vector<Runs>& runs() const { return runs_; }
  const std::vector<llm::Choice>& choices() const { return messages_; }

 private:
  void read_delta(size_t index, const json::value& choice) {
    const json::object& delta = choice.at("delta").as_object();
    llm::Choice& message = messages_.at(index);
    const auto text = [&](std::string_view member) {
      const json::value* value = delta.if_contains(member);
      return value == nullptr ? std::string() : std::string(value->as_string());
    };
    if (const std::string more = text("reasoning_content"); !more.empty()) {
      message.reasoning = message.reasoning.value_or("") + more;
      add(index, "thought ", more);
    }
    if (const std::string more = text("content"); !more.empty()) {
      message.text += more;
      add(index, "text ", more);
    }
    if (const json::value* calls = delta.if_contains("tool_calls")) {
      for (const json::value& call : calls->as_array())
        read_call(index, call);
    }
    if (choice.at("finish_reason").is_null()) return;
    EXPECT_FALSE(std::exchange(finished_[index], true)) << "it ends once";
    message.finish_reason = choice.at("finish_reason") == "stop" ? llm::FinishReason::kStop
                                                                 : llm::FinishReason::kToolCalls;
  }

  void read_call(size_t index, const json::value& call) {
    std::vector<llm::ToolCall>& calls = messages_.at(index).tool_calls;
    const auto place = static_cast<size_t>(call.at("index").as_int64());
    const std::string arguments(call.at("function").at("arguments").as_string());
    if (place == calls.size()) {
      const std::string id(call.at("id").as_string());
      calls.push_back({.id = id, .name = std::string(call.at("function").at("name").as_string())});
      runs_.at(index).push_back(fmt::format("call {} {} ", id, calls.back().name));
    } else {
      EXPECT_EQ(place + 1, calls.size()) << "calls come one after the other";
    }
    calls.back().arguments += arguments;
    runs_.at(index).back() += arguments;
  }

  void add(size_t index, std::string_view kind, const std::string& more) {
    Runs& runs = runs_.at(index);
    if (runs.empty() || !runs.back().starts_with(kind)) runs.emplace_back(kind);
    runs.back() += more;
  }

  std::vector<Runs> runs_;
  std::vector<llm::Choice> messages_;
  bool finished_[2] = {};
  bool done_ = false;
};

json::value whole(const llm::Answer& answer) {
  return json::parse(
      llm::answer_to_json(llm::Endpoint::kChatCompletions, "7", "m", 1'700'000'000, answer));
}

TEST(CallFlowMerge, WhateverBecomesOneEventTheStreamIsTheWholeReply) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const Made made = make(random);
    CallFlow flow(TimePoint{});
    flow.set_stream(std::make_unique<StreamText>(StreamShape{.id = "7", .model = "m"}));
    std::string events;
    const double slow = random.chance(0.5) ? 0.8 : 0.1;
    for (size_t at = 0; at < made.deltas.size();) {
      const size_t end = std::min(made.deltas.size(), at + 1 + random.below(4));
      events += flow.emit({made.deltas.begin() + static_cast<ptrdiff_t>(at),
                           made.deltas.begin() + static_cast<ptrdiff_t>(end)},
                          random.chance(slow), TimePoint{})
                    .bytes;
      at = end;
      if (random.chance(0.1)) events += flow.drained(TimePoint{}).bytes;
    }
    events += flow.end(llm::Outcome(made.answer)).bytes;

    Reader reader(made.answer.choices.size());
    reader.read(events);
    EXPECT_TRUE(reader.done());
    ASSERT_EQ(reader.runs(), made.runs);
    ASSERT_EQ(whole({.choices = reader.choices()}), whole(made.answer));
  }
}

}  // namespace
}  // namespace windrow::api
