#include "fleet/tokenizer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace windrow::fleet {
namespace {

using Text = llm::ToldPrompt::Text;

constexpr size_t kTokensMax = 4096;
constexpr size_t kEncodedBytesMax = 4096;

// Of a longer text its words are taken from so many bytes. They lie within kTokensMax tokens, of
// which each has a byte at least.
constexpr size_t kSearchedBytesMax = 1024;

// Fewer bytes of words may be anywhere by chance.
constexpr size_t kFoundBytesMin = 8;

// Characters that no Unicode normalisation changes by themselves.
bool is_plain(char32_t character) {
  constexpr auto kRanges = std::to_array<std::pair<char32_t, char32_t>>({{0x21, 0x7E},
                                                                         {0xC0, 0xFF},
                                                                         {0x100, 0x131},
                                                                         {0x400, 0x45F},
                                                                         {0x3041, 0x3096},
                                                                         {0x30A1, 0x30FA},
                                                                         {0x4E00, 0x9FFF},
                                                                         {0xAC00, 0xD7A3}});
  return std::ranges::any_of(kRanges, [&](const auto& range) {
    return character >= range.first && character <= range.second;
  });
}

bool is_blank(char32_t character) {
  return character == ' ' || character == '\n' || character == '\t' || character == '\r';
}

// The words of a text as far as they consist of plain characters. What follows such a character may
// combine with it, so a word ends before the one in front of any that is neither plain nor blank;
// and also before its last one where `goes_on`, the text, was cut off.
std::vector<std::string_view> words_of(std::string_view text, bool goes_on) {
  std::vector<std::string_view> words;
  const char* begin = text.data();  // of the word
  const char* last = begin;         // its last character
  const auto end_word = [&](const char* end) {
    if (end > begin) words.emplace_back(begin, static_cast<size_t>(end - begin));
  };
  while (!text.empty()) {
    const char* const at = text.data();
    const std::optional<char32_t> character = take_code_point(text);
    if (!character) text.remove_prefix(1);
    if (character && is_plain(*character)) {
      last = at;
      continue;
    }
    end_word(character && is_blank(*character) ? at : last);
    begin = last = text.data();
  }
  end_word(goes_on ? last : text.data());
  return words;
}

// Words at the front of a whole prompt, or at the end of a part of one.
std::vector<std::string_view> searched_words(const llm::ToldPrompt& told) {
  const std::string_view text = told.text;
  if (text.size() <= kSearchedBytesMax) return words_of(text, /*goes_on=*/false);
  if (told.place != Text::kWhole)
    return words_of(text.substr(text.size() - kSearchedBytesMax), /*goes_on=*/false);
  return words_of(text.substr(0, kSearchedBytesMax), /*goes_on=*/true);
}

// Plain characters and single spaces between them: all tokenizers of a model read it alike.
bool is_read_alike(std::string_view text) {
  bool space = true;
  while (!text.empty()) {
    const std::optional<char32_t> character = take_code_point(text);
    if (!character) return false;
    const bool is_space = *character == ' ';
    if (is_space ? space : !is_plain(*character)) return false;
    space = is_space;
  }
  return !space;
}

// The ids in which that part is; nothing where they are too many to say.
std::optional<std::span<const int64_t>> searched_ids(const llm::ToldPrompt& told) {
  const std::span<const int64_t> ids = told.ids;
  if (ids.size() <= kTokensMax) return ids;
  if (told.place == Text::kWhole) return ids.first(kTokensMax);
  if (told.place == Text::kLastPart) return ids.last(kTokensMax);
  return std::nullopt;
}

TokenizerVerdict search(const llm::Tokenizer& tokenizer, const llm::ToldPrompt& told) {
  const auto ids = searched_ids(told);
  if (!ids) return {};
  std::string decoded;
  for (const int64_t id : *ids)
    tokenizer.append_piece(static_cast<int32_t>(id), decoded);
  size_t at = 0;
  size_t found = 0;
  for (const std::string_view word : searched_words(told)) {
    at = decoded.find(word, at);
    if (at == std::string::npos) {
      return {.match = TokenizerMatch::kOther,
              .difference = fmt::format("it reads the {} tokens that the server made of a prompt "
                                        "as a text in which the prompt is not",
                                        told.ids.size())};
    }
    at += word.size();
    found += word.size();
  }
  return {.match = found < kFoundBytesMin ? TokenizerMatch::kUnknown : TokenizerMatch::kSame,
          .difference = {}};
}

// How servers read the text of a completion: most give control tokens their meaning, and special
// tokens are added as the model's tokenizer or as the request wants it.
TokenizerVerdict compare(const llm::Tokenizer& tokenizer, const llm::ToldPrompt& told) {
  size_t tokens = 0;
  size_t equal = 0;  // of them, at the front, where most are
  for (const auto added :
       {llm::SpecialTokens::kBegin, llm::SpecialTokens::kNone, llm::SpecialTokens::kAll}) {
    for (const bool control : {true, false}) {
      const std::vector<int32_t> ids = tokenizer.encode(told.text, control, added);
      if (std::ranges::equal(ids, told.ids)) return {.match = TokenizerMatch::kSame, .difference{}};
      const auto differ = std::ranges::mismatch(ids, told.ids);
      const auto same = static_cast<size_t>(differ.in1 - ids.begin());
      if (tokens > 0 && same <= equal) continue;
      tokens = ids.size();
      equal = same;
    }
  }
  if (!is_read_alike(told.text)) return search(tokenizer, told);
  return {.match = TokenizerMatch::kOther,
          .difference = fmt::format("it reads a prompt as {} tokens and the server as {}, and they "
                                    "differ from token {} on",
                                    tokens, told.ids.size(), equal + 1)};
}

}  // namespace

TokenizerVerdict check_tokenizer(const llm::Tokenizer& tokenizer, const llm::ToldPrompt& told) {
  const int32_t size = tokenizer.vocabulary_size();
  const auto outside =
      std::ranges::find_if(told.ids, [&](int64_t id) { return id < 0 || id >= size; });
  if (outside != told.ids.end()) {
    return {.match = TokenizerMatch::kOther,
            .difference = fmt::format("the server's prompts have the token {}, and its ids are 0 "
                                      "to {}",
                                      *outside, size - 1)};
  }
  const bool is_short = told.ids.size() <= kTokensMax && told.text.size() <= kEncodedBytesMax;
  return told.place == Text::kWhole && is_short ? compare(tokenizer, told)
                                                : search(tokenizer, told);
}

}  // namespace windrow::fleet
