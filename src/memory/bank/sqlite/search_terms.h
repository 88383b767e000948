// What is searched for: the words of a text, also in scripts that are written without spaces
// between words (Chinese, Japanese, Thai and others). Their words are not known, so each two
// neighbouring characters are taken for one, as Lucene's CJKBigramFilter does. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace windrow::memory {

// For the index: all pairs of neighbouring characters of such scripts, and the last character of
// each run, separated by spaces. Empty for a text without such characters.
std::string grams_of(std::string_view text);

// For a query: terms of SQLite's FTS5, each once: words in quotes, pairs of characters, and for a
// character that stands alone everything that begins with it. Nothing in the text is an operator.
std::vector<std::string> search_terms(std::string_view text);

}  // namespace windrow::memory
