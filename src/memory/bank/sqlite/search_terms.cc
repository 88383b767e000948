#include "memory/bank/sqlite/search_terms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace windrow::memory {
namespace {

struct CodePoints {
  char32_t first = 0;
  char32_t last = 0;
};

// By the blocks of the Unicode standard.
constexpr std::array kWithoutSpaces = {
    CodePoints{0x0E00, 0x0EFF},    // Thai, Lao
    CodePoints{0x1000, 0x109F},    // Myanmar
    CodePoints{0x1780, 0x17FF},    // Khmer
    CodePoints{0x3005, 0x3007},    // ideographic iteration and closing marks, zero
    CodePoints{0x3041, 0x30FF},    // Hiragana, Katakana
    CodePoints{0x31F0, 0x31FF},    // Katakana, phonetic extensions
    CodePoints{0x3400, 0x4DBF},    // ideographs
    CodePoints{0x4E00, 0x9FFF},    // ideographs
    CodePoints{0xF900, 0xFAFF},    // ideographs
    CodePoints{0xFF66, 0xFF9F},    // Katakana, half width
    CodePoints{0x20000, 0x3FFFF},  // ideographs
};

bool has_no_spaces(char32_t code_point) {
  return std::ranges::any_of(kWithoutSpaces, [&](const CodePoints& block) {
    return code_point >= block.first && code_point <= block.last;
  });
}

// Anything beyond ASCII may belong to a word; FTS5's tokenizer knows the rest.
bool may_be_in_word(char32_t code_point) {
  return code_point >= 0x80 || (code_point >= '0' && code_point <= '9') ||
         (code_point >= 'a' && code_point <= 'z') || (code_point >= 'A' && code_point <= 'Z');
}

// Hands out the runs of a text: of characters without spaces between words, and words.
template <class OnRun, class OnWord>
void split(std::string_view text, OnRun on_run, OnWord on_word) {
  std::vector<std::string> run;  // one character each
  std::string word;
  const auto end = [&] {
    if (!run.empty()) on_run(std::exchange(run, {}));
    if (!word.empty()) on_word(std::exchange(word, {}));
  };
  while (!text.empty()) {
    const std::string_view rest = text;
    const std::optional<char32_t> code_point = take_code_point(text);
    if (!code_point) {
      text.remove_prefix(1);
      end();
      continue;
    }
    const std::string_view bytes = rest.substr(0, rest.size() - text.size());
    if (has_no_spaces(*code_point)) {
      if (!word.empty()) end();
      run.emplace_back(bytes);
    } else if (may_be_in_word(*code_point)) {
      if (!run.empty()) end();
      word += bytes;
    } else {
      end();
    }
  }
  end();
}

std::string in_quotes(std::string_view term) {
  // A quotation mark is never part of a word.
  return '"' + std::string(term) + '"';
}

}  // namespace

std::string grams_of(std::string_view text) {
  std::string grams;
  split(
      text,
      [&](const std::vector<std::string>& run) {
        for (size_t i = 0; i < run.size(); ++i) {
          if (!grams.empty()) grams += ' ';
          grams += run[i];
          if (i + 1 < run.size()) grams += run[i + 1];
        }
      },
      [](const std::string&) {});
  return grams;
}

std::vector<std::string> search_terms(std::string_view text) {
  std::vector<std::string> terms;
  std::unordered_set<std::string> known;
  const auto add = [&](std::string term) {
    if (known.insert(term).second) terms.push_back(std::move(term));
  };
  split(
      text,
      [&](const std::vector<std::string>& run) {
        if (run.size() == 1) add(in_quotes(run.front()) + "*");
        for (size_t i = 0; i + 1 < run.size(); ++i)
          add(in_quotes(run[i] + run[i + 1]));
      },
      [&](std::string word) {
        // FTS5 takes words for equal whose ASCII letters differ only in case.
        std::ranges::transform(word, word.begin(), [](char c) {
          return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        add(in_quotes(word));
      });
  return terms;
}

}  // namespace windrow::memory
