// Suggestions for mistyped words. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windrow {

// The edit distance: how many letters have to be changed, removed, inserted or swapped with their
// neighbour to turn one word into the other.
size_t edit_distance(std::string_view one, std::string_view other);

// The nearest of `words`, the first of equally near ones; empty if none is near enough. "-" and
// "_", and upper and lower case, count as equal.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

// "; did you mean X?", or `otherwise` if no word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words,
                         std::string_view otherwise);

}  // namespace windrow
