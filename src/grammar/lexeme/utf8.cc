#include "grammar/lexeme/utf8.h"

namespace windrow::grammar {
namespace {

struct Length {
  size_t bytes;
  uint8_t lead;    // the bits that say so
  char32_t least;  // below it the spelling is too long
};

constexpr Length kLengths[] = {{1, 0x00, 0}, {2, 0xC0, 0x80}, {3, 0xE0, 0x800}, {4, 0xF0, 0x10000}};

const Length* length_of(uint8_t lead) {
  if (lead < 0x80) return &kLengths[0];
  if (lead < 0xC0 || lead > 0xF7) return nullptr;
  return &kLengths[lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3];
}

}  // namespace

std::optional<char32_t> take_character(std::string_view& text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const Length* length = length_of(lead);
  if (length == nullptr || text.size() < length->bytes) return std::nullopt;
  char32_t character = lead ^ length->lead;
  for (size_t i = 1; i < length->bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    character = character << 6 | (byte & 0x3F);
  }
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  if (character < length->least || character > 0x10FFFF || surrogate) return std::nullopt;
  text.remove_prefix(length->bytes);
  return character;
}

std::optional<std::u32string> characters_of(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const auto character = take_character(text);
    if (!character) return std::nullopt;
    characters.push_back(*character);
  }
  return characters;
}

void append_utf8(char32_t character, std::string& text) {
  const auto low = [character](int shift) {
    return static_cast<char>(0x80 | (character >> shift & 0x3F));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += {static_cast<char>(0xC0 | character >> 6), low(0)};
  } else if (character < 0x10000) {
    text += {static_cast<char>(0xE0 | character >> 12), low(6), low(0)};
  } else {
    text += {static_cast<char>(0xF0 | character >> 18), low(12), low(6), low(0)};
  }
}

}  // namespace windrow::grammar
