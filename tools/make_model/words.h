// The English that the vocabularies of make_model are built from.
#pragma once

#include <span>
#include <string_view>

namespace windrow::make_model {

// Lower-case words, the most frequent first, each once.
std::span<const std::string_view> common_words();

// Word endings that a vocabulary of word pieces has besides whole words.
std::span<const std::string_view> common_endings();

}  // namespace windrow::make_model
