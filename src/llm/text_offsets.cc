#include "llm/text_offsets.h"

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
  TextOffsets offsets(choice.text_begin);
  offsets.add_text(choice.text);
  std::vector<int32_t> all;
  all.reserve(choice.tokens.size());
  for (const ScoredToken& token : choice.tokens)
    all.push_back(offsets.next(token.chosen.bytes));
  return all;
}

void TextOffsets::add_text(std::string_view text) {
  text_.erase(0, used_);
  used_ = 0;
  text_ += text;
}

int32_t TextOffsets::next(std::string_view token) {
  const std::string_view rest = std::string_view(text_).substr(used_);
  const bool within_character = !rest.empty() && !is_lead(rest.front());
  const int32_t offset = within_character ? characters_ - 1 : characters_;
  const size_t length = length_in_text(token, rest, at_start_);
  characters_ += count_characters(rest.substr(0, length));
  used_ += length;
  if (length > 0) at_start_ = false;
  return offset;
}

}  // namespace windrow::llm
