// RecordingListener: what was said of an answer while it was made, for tests: joined, and held to
// what llm/stream_sink.h promises.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/utf8.h"
#include "llm/stream_sink.h"

namespace windrow::engine::testing {

class RecordingListener final : public llm::StreamSink {
 public:
  void on_delta(llm::Delta piece) override {
    EXPECT_FALSE(done_) << "a piece after the Done";
    Said& said = choices_[piece.choice];
    EXPECT_FALSE(said.whole.finish_reason) << "a piece after the last of choice " << piece.choice;
    EXPECT_TRUE(piece.finish_reason || !piece.text.empty() || !piece.reasoning.empty() ||
                !piece.tool_calls.empty() || !piece.tokens.empty())
        << "a piece that says nothing";
    EXPECT_EQ(utf8_repair(piece.text), piece.text);
    ++said.pieces;
    said.whole.text_begin = piece.text_begin;
    said.whole.text += piece.text;
    said.whole.reasoning += piece.reasoning;
    for (const llm::ToolCallPiece& call : piece.tool_calls) {
      const auto index = static_cast<size_t>(call.index);
      EXPECT_EQ(call.name.empty(), index < said.calls.size()) << "a call is named once, at first";
      EXPECT_EQ(call.id.empty(), call.name.empty());
      if (index >= said.calls.size())
        said.calls.push_back({.id = call.id, .name = call.name, .arguments = {}});
      said.calls.at(index).arguments += call.arguments;
    }
    said.whole.tokens.insert(said.whole.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    said.whole.finish_reason = piece.finish_reason;
    said.whole.cut_character = piece.cut_character;
  }

  // Called by the request's Done.
  void expect_said(const llm::Outcome& outcome) {
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
      EXPECT_EQ(whole.finish_reason, choice.finish_reason) << "choice " << i;
      EXPECT_EQ(whole.cut_character, choice.cut_character) << "choice " << i;
    }
  }

  int pieces(int32_t choice = 0) { return choices_[choice].pieces; }
  const std::string& text(int32_t choice = 0) { return choices_[choice].whole.text; }

 private:
  struct Said {
    llm::Delta whole;
    std::vector<llm::ToolCall> calls;
    int pieces = 0;
  };

  std::map<int32_t, Said> choices_;
  bool done_ = false;
};

}  // namespace windrow::engine::testing
