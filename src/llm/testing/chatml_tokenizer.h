// ChatmlTokenizer: a tokenizer for tests: each byte is a token, and behind them come
//
//   256 <|im_start|>   257 <|im_end|>   258 <|endoftext|>   259 "zz", one token that is no control
//
// encode() writes "zz" as 259; a model may as well sample "z" twice, and the text is the same. A
// chat is its messages as
//
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n
//
// with roles system, user, assistant and tool; before them the tools, if there are any, as a
// message of the role "tools". An assistant's reasoning_content stands before its content as
// <think>\n...\n</think>\n\n, and its tool_calls behind it as <tool_call>{"name", "arguments"}
// </tool_call>. With the template argument, or the wish, enable_thinking false the prompt closes
// the reasoning itself, and an answer without reasoning has <think>\n\n</think>\n\n.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/tokenizer.h"

namespace windrow::llm::testing {

class ChatmlTokenizer final : public llm::Tokenizer {
 public:
  static constexpr int32_t kMessage = 256;    // <|im_start|>
  static constexpr int32_t kEnd = 257;        // <|im_end|>
  static constexpr int32_t kEndOfText = 258;  // <|endoftext|>: ends an answer; not in the template
  static constexpr int32_t kPair = 259;       // zz

  int32_t vocabulary_size() const override { return kPair + 1; }
  int32_t context_tokens_max() const override { return 1 << 20; }
  std::vector<int32_t> encode(std::string_view text, bool control,
                              llm::SpecialTokens added) const override;
  void append_piece(int32_t token, std::string& bytes) const override;
  bool is_control(int32_t token) const override { return token >= kMessage && token < kPair; }

  // 400 `chat_template_refused`: another role.
  std::variant<llm::RenderedChat, llm::Failure> render(const llm::Chat& chat,
                                                       bool asks_for_answer) const override;

  // An answer that ends with <|endoftext|> loses it, and one without an end is closed.
  std::variant<llm::AppendedTokens, llm::Failure> append(const llm::SampledAnswer& answer,
                                                         const llm::Chat& appended) const override;

  std::unique_ptr<llm::AnswerReader> read_answer(const llm::Chat& chat,
                                                 std::span<const int32_t> prompt,
                                                 llm::ReadingOptions options) const override;

  // The tokens of a text whose control tokens count.
  std::vector<int32_t> tokens_of(std::string_view text) const {
    return encode(text, true, llm::SpecialTokens::kNone);
  }
};

}  // namespace windrow::llm::testing
