#include "program/context/answer_tokens.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace windrow::program {
namespace {

std::vector<int32_t> without_stop_text(const llm::Tokenizer& tokenizer, std::string_view stop,
                                       std::vector<int32_t> tokens) {
  std::string bytes;
  std::vector<size_t> begins;  // of each token in `bytes`
  for (const int32_t token : tokens) {
    begins.push_back(bytes.size());
    if (!tokenizer.is_control(token)) tokenizer.append_piece(token, bytes);
  }
  // The last token completed it: what is earlier did not end the answer (within thoughts, say).
  const size_t last = begins.empty() ? 0 : begins.back();
  const size_t from = last + 1 - std::min(last + 1, stop.size());
  const size_t at = bytes.find(stop, from);
  if (at == std::string::npos) return tokens;

  while (!begins.empty() && begins.back() >= at) {
    begins.pop_back();
    tokens.pop_back();
  }
  const size_t end = begins.empty() ? 0 : begins.back();
  std::string last_bytes;
  if (!tokens.empty()) tokenizer.append_piece(tokens.back(), last_bytes);
  if (end + last_bytes.size() <= at) return tokens;
  tokens.pop_back();
  const std::vector<int32_t> part = tokenizer.encode(
      std::string_view(last_bytes).substr(0, at - end), false, llm::SpecialTokens::kNone);
  tokens.insert(tokens.end(), part.begin(), part.end());
  return tokens;
}

}  // namespace

std::vector<int32_t> tokens_said(const llm::Tokenizer& tokenizer, const llm::Choice& choice) {
  std::vector<int32_t> tokens = choice.token_ids;
  if (choice.stopped_by_token) {
    if (!tokens.empty() && tokens.back() == *choice.stopped_by_token) tokens.pop_back();
  } else if (choice.stopped_by && !choice.stopped_by->empty()) {
    return without_stop_text(tokenizer, *choice.stopped_by, std::move(tokens));
  }
  return tokens;
}

std::vector<int32_t> tokens_said_raw(const llm::Tokenizer& tokenizer, const llm::Choice& choice) {
  std::vector<int32_t> tokens = tokens_said(tokenizer, choice);
  if (!choice.stopped_by && !tokens.empty() && tokenizer.is_control(tokens.back()))
    tokens.pop_back();
  return tokens;
}

}  // namespace windrow::program
