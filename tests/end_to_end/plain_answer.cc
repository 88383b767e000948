#include "end_to_end/plain_answer.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <array>
#include <cstddef>

#include "base/utf8.h"
#include "facts/plain_llama.h"

namespace windrow::end_to_end {
namespace {

void append_tokens(const llama_vocab* vocabulary, const PromptPiece& piece,
                   std::vector<llama_token>& tokens) {
  std::vector<llama_token> more(piece.text.size() + 2);
  const int32_t count = llama_tokenize(
      vocabulary, piece.text.data(), static_cast<int32_t>(piece.text.size()), more.data(),
      static_cast<int32_t>(more.size()), /*add_special=*/false, /*parse_special=*/piece.control);
  ASSERT_GE(count, 0);
  tokens.insert(tokens.end(), more.begin(), more.begin() + count);
}

std::string text_of(const llama_vocab* vocabulary, llama_token token) {
  std::array<char, 128> piece = {};
  const int32_t length =
      llama_token_to_piece(vocabulary, token, piece.data(), piece.size(), 0, /*special=*/false);
  EXPECT_GE(length, 0);
  return {piece.data(), static_cast<size_t>(length)};
}

}  // namespace

PlainAnswer plain_answer(const std::string& family, const std::vector<PromptPiece>& prompt,
                         int output_tokens_max, bool ignore_eos) {
  const facts::Model model = facts::load_model(family);
  const facts::Context context = facts::make_context(model, facts::exact_params(4096));
  const llama_vocab* vocabulary = llama_model_get_vocab(model.get());
  std::vector<llama_token> tokens;
  for (const PromptPiece& piece : prompt)
    append_tokens(vocabulary, piece, tokens);

  PlainAnswer answer{.text = "",
                     .finish_reason = "length",
                     .prompt_tokens = static_cast<int>(tokens.size()),
                     .completion_tokens = 0};
  facts::Batch batch;
  batch.add_run(tokens, 0, 0);
  std::string bytes;
  while (answer.completion_tokens < output_tokens_max) {
    EXPECT_EQ(facts::decode(context, batch), 0);
    const llama_token token = facts::greedy(facts::logits_of(context));
    ++answer.completion_tokens;
    const bool ends = llama_vocab_is_eog(vocabulary, token);
    if (ends && !ignore_eos) {
      answer.finish_reason = "stop";
      break;
    }
    if (!ends) bytes += text_of(vocabulary, token);
    batch.clear().add_run({token}, static_cast<llama_pos>(tokens.size()), 0);
    tokens.push_back(token);
  }
  answer.text = utf8_repair(bytes);
  return answer;
}

std::vector<PromptPiece> chat_prompt(const std::string& content) {
  return {{.text = "<|im_start|>", .control = true}, {.text = "user\n" + content, .control = false},
          {.text = "<|im_end|>", .control = true},   {.text = "\n", .control = false},
          {.text = "<|im_start|>", .control = true}, {.text = "assistant\n", .control = false}};
}

}  // namespace windrow::end_to_end
