// The word a person probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace windrow {

// How many letters have to be changed, left out, put in or swapped with their neighbour to turn one
// word into the other.
size_t edit_distance(std::string_view one, std::string_view other);

// The nearest of `words`, or empty when none is near enough to be what was meant. "-" and "_" and
// upper and lower case count as equal. Of equally near ones the first.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

// "; did you mean X?", or `otherwise` when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words,
                         std::string_view otherwise);

}  // namespace windrow
