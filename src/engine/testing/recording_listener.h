// RecordingListener: joins the deltas of an answer and checks what llm/stream_sink.h promises.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/utf8.h"
#include "llm/stream_sink.h"

namespace windrow::engine::testing {

class RecordingListener final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta delta) override {
    EXPECT_FALSE(done_) << "a delta after the Done";
    Emitted& emitted = choices_[delta.choice];
    EXPECT_FALSE(emitted.whole.finish_reason)
        << "a delta after the last of choice " << delta.choice;
    EXPECT_TRUE(delta.finish_reason || !delta.text.empty() || !delta.reasoning.empty() ||
                !delta.tool_calls.empty() || !delta.tokens.empty() || !delta.token_ids.empty())
        << "an empty delta";
    EXPECT_EQ(utf8_repair(delta.text), delta.text);
    ++emitted.deltas;
    emitted.whole.text_begin = delta.text_begin;
    emitted.whole.text += delta.text;
    emitted.whole.reasoning += delta.reasoning;
    for (const llm::ToolCallPiece& call : delta.tool_calls) {
      const auto index = static_cast<size_t>(call.index);
      EXPECT_EQ(call.name.empty(), index < emitted.calls.size())
          << "a call is named once, at first";
      EXPECT_EQ(call.id.empty(), call.name.empty());
      if (index >= emitted.calls.size())
        emitted.calls.push_back({.id = call.id, .name = call.name, .arguments = {}});
      emitted.calls.at(index).arguments += call.arguments;
    }
    emitted.whole.tokens.insert(emitted.whole.tokens.end(), delta.tokens.begin(),
                                delta.tokens.end());
    EXPECT_TRUE(emitted.deltas == 1 || delta.prompt_token_ids.empty())
        << "the prompt is named once, at first";
    emitted.whole.token_ids.insert(emitted.whole.token_ids.end(), delta.token_ids.begin(),
                                   delta.token_ids.end());
    emitted.whole.stopped_by_token = delta.stopped_by_token;
    emitted.whole.finish_reason = delta.finish_reason;
    emitted.whole.cut_character = delta.cut_character;
  }

  // Called by the request's Done.
  void expect_emitted(const llm::Outcome& outcome) {
    done_ = true;
    const auto* answer = std::get_if<llm::Answer>(&outcome);
    if (answer == nullptr) return;
    EXPECT_EQ(choices_.size(), answer->choices.size());
    for (size_t i = 0; i < answer->choices.size(); ++i) {
      const llm::Choice& choice = answer->choices[i];
      const llm::Delta& whole = choices_[static_cast<int32_t>(i)].whole;
      EXPECT_EQ(whole.text, choice.text) << "choice " << i;
      EXPECT_EQ(whole.text_begin, choice.text_begin) << "choice " << i;
      EXPECT_EQ(whole.reasoning, choice.reasoning.value_or("")) << "choice " << i;
      EXPECT_EQ(choices_[static_cast<int32_t>(i)].calls, choice.tool_calls) << "choice " << i;
      EXPECT_EQ(whole.tokens, choice.tokens) << "choice " << i;
      EXPECT_EQ(whole.token_ids, choice.token_ids) << "choice " << i;
      EXPECT_EQ(whole.stopped_by_token, choice.stopped_by_token) << "choice " << i;
      EXPECT_EQ(whole.finish_reason, choice.finish_reason) << "choice " << i;
      EXPECT_EQ(whole.cut_character, choice.cut_character) << "choice " << i;
    }
  }

  int deltas(int32_t choice = 0) { return choices_[choice].deltas; }
  const std::string& text(int32_t choice = 0) { return choices_[choice].whole.text; }

 private:
  struct Emitted {
    llm::Delta whole;
    std::vector<llm::ToolCall> calls;
    int deltas = 0;
  };

  std::map<int32_t, Emitted> choices_;
  bool done_ = false;
};

}  // namespace windrow::engine::testing
