#include "llm/text_offsets.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace windrow::llm {
namespace {

bool is_lead(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

int32_t count_characters(std::string_view text) {
  int32_t count = 0;
  for (const char byte : text) {
    if (is_lead(byte)) ++count;
  }
  return count;
}

// How much of the text, which is well-formed and so may differ from the bytes, the token is.
size_t length_in_text(std::string_view token, std::string_view rest, bool at_start) {
  if (rest.starts_with(token)) return token.size();
  const std::string repaired = utf8_repair(token);
  if (rest.starts_with(repaired)) return repaired.size();
  // A tokeniser that marks words by the blank before them may put one before the first as well.
  if (at_start && token.starts_with(' ') && rest.starts_with(token.substr(1))) {
    return token.size() - 1;
  }
  return 0;
}

}  // namespace

std::vector<int32_t> text_offsets(const Choice& choice) {
  const std::string_view text = choice.text;
  std::vector<int32_t> offsets;
  offsets.reserve(choice.tokens.size());
  size_t at = 0;
  int32_t characters = choice.text_begin;  // that begin before `at`
  for (const ScoredToken& token : choice.tokens) {
    const bool within_character = at < text.size() && !is_lead(text[at]);
    offsets.push_back(within_character ? characters - 1 : characters);
    const size_t length = length_in_text(token.chosen.bytes, text.substr(at), at == 0);
    characters += count_characters(text.substr(at, length));
    at += length;
  }
  return offsets;
}

void TextOffsets::add_text(std::string_view text) {
  const size_t common = std::min(owed_.size(), text.size());
  if (text.substr(0, common) == std::string_view(owed_).substr(0, common)) {
    owed_.erase(0, common);
    text.remove_prefix(common);
  } else {
    characters_ -= count_characters(owed_);
    owed_.clear();
  }
  text_.erase(0, used_);
  used_ = 0;
  text_ += text;
}

int32_t TextOffsets::next(std::string_view token) {
  const std::string_view rest = std::string_view(text_).substr(used_);
  const std::string_view what = rest.empty() ? token : rest;
  const bool within_character = !what.empty() && !is_lead(what.front());
  const int32_t offset = within_character ? characters_ - 1 : characters_;
  size_t length = length_in_text(token, rest, at_start_);
  if (length == 0 && rest.size() < token.size() && token.starts_with(rest)) {
    owed_ += token.substr(rest.size());
    length = rest.size();
    characters_ += count_characters(token.substr(rest.size()));
  }
  characters_ += count_characters(rest.substr(0, length));
  used_ += length;
  at_start_ = at_start_ && token.empty();
  return offset;
}

}  // namespace windrow::llm
