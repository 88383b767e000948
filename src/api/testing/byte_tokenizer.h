// ByteTokenizer: each byte is a token, 256 is the beginning of a context, "<s>", and 257 ends a
// text,
// "</s>". A chat is its messages as "role: content", one a line, and "assistant:" where an answer
// is asked for.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value_to.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "llm/tokenizer.h"

namespace windrow::api::testing {

class ByteTokenizer final : public llm::Tokenizer {
 public:
  static constexpr int32_t kBegin = 256;
  static constexpr int32_t kEnd = 257;

  int32_t vocabulary_size() const override { return kEnd + 1; }
  int32_t context_tokens_max() const override { return 4096; }

  std::vector<int32_t> encode(std::string_view text, bool control,
                              llm::SpecialTokens added) const override {
    std::vector<int32_t> tokens;
    if (added != llm::SpecialTokens::kNone) tokens.push_back(kBegin);
    while (!text.empty()) {
      if (control && text.starts_with("<s>")) {
        tokens.push_back(kBegin);
        text.remove_prefix(3);
      } else {
        tokens.push_back(static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
      }
    }
    if (added == llm::SpecialTokens::kAll) tokens.push_back(kEnd);
    return tokens;
  }

  void append_piece(int32_t token, std::string& bytes) const override {
    if (token == kBegin) {
      bytes += "<s>";
    } else if (token == kEnd) {
      bytes += "</s>";
    } else {
      bytes += static_cast<char>(token);
    }
  }

  bool is_control(int32_t token) const override { return token >= kBegin; }

  std::variant<llm::RenderedChat, llm::Failure> render(const llm::Chat& chat,
                                                       bool asks_for_answer) const override {
    std::string text;
    for (const boost::json::value& message : chat.messages) {
      const auto role = boost::json::value_to<std::string>(message.at("role"));
      if (role == "system") {
        return llm::Failure{.code = "chat_template_refused",
                            .message = "no system messages",
                            .param = "messages[0].role"};
      }
      text += role + ": " + boost::json::value_to<std::string>(message.at("content")) + "\n";
    }
    if (asks_for_answer) text += "assistant:";
    return llm::RenderedChat{.text = text,
                             .tokens = encode(text, true, llm::SpecialTokens::kBegin)};
  }

  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer&,
                                                         const llm::Chat&) const override {
    return llm::AppendedTokens{};
  }

  // All of it is content.
  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat&, std::span<const int32_t>,
                                                 llm::ReadingOptions) const override {
    return std::make_unique<ByteReader>();
  }

 private:
  class ByteReader final : public llm::AnswerReader {
   public:
    std::vector<llm::Delta> take(std::span<const int32_t> tokens) override {
      llm::Delta delta;
      for (const int32_t token : tokens) {
        if (token >= 0 && token < kBegin) delta.text += static_cast<char>(token);
      }
      text_ += delta.text;
      if (delta.text.empty()) return {};
      return {std::move(delta)};
    }
    End end(llm::FinishReason reason) override {
      return {.last = {.finish_reason = reason},
              .choice = {.text = text_, .finish_reason = reason}};
    }

   private:
    std::string text_;
  };
};

}  // namespace windrow::api::testing
