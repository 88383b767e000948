#include "base/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace windrow {
namespace {

std::string normalised(std::string_view word) {
  std::string result(word);
  for (char& letter : result) {
    letter =
        letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

}  // namespace

size_t edit_distance(std::string_view one, std::string_view other) {
  // Optimal string alignment, three rows of the table at a time.
  std::vector<size_t> before_last(other.size() + 1);
  std::vector<size_t> last(other.size() + 1);
  std::vector<size_t> row(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      const size_t replaced = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped =
          i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[other.size()];
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  const std::string wanted = normalised(word);
  std::string_view nearest;
  size_t nearest_distance = 0;
  for (const std::string_view candidate : words) {
    const size_t distance = edit_distance(wanted, normalised(candidate));
    // A third of the word may differ: more than that is another word.
    const size_t distance_max = std::max<size_t>(1, std::min(wanted.size(), candidate.size()) / 3);
    // Nor are two words that have no letter in common.
    if (distance > distance_max || distance >= std::max(wanted.size(), candidate.size())) continue;
    if (nearest.empty() || distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> words,
                         std::string_view otherwise) {
  const std::string_view nearest = nearest_word(word, words);
  if (nearest.empty()) return std::string(otherwise);
  return fmt::format("; did you mean {}?", nearest);
}

}  // namespace windrow
