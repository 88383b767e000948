#include "base/code_points.h"

#include <algorithm>
#include <cstdint>

namespace windrow {
namespace {

struct Utf8Length {
  size_t bytes;
  uint8_t lead;    // the bits that say so
  char32_t least;  // below it the spelling is too long
};

constexpr Utf8Length kUtf8Lengths[] = {
    {1, 0x00, 0}, {2, 0xC0, 0x80}, {3, 0xE0, 0x800}, {4, 0xF0, 0x10000}};

const Utf8Length* utf8_length_of(uint8_t lead) {
  if (lead < 0x80) return &kUtf8Lengths[0];
  if (lead < 0xC0 || lead > 0xF7) return nullptr;
  return &kUtf8Lengths[lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3];
}

}  // namespace

std::optional<char32_t> take_code_point(std::string_view& text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const Utf8Length* length = utf8_length_of(lead);
  if (length == nullptr || text.size() < length->bytes) return std::nullopt;
  char32_t point = lead ^ length->lead;
  for (size_t i = 1; i < length->bytes; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    point = point << 6 | (byte & 0x3F);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < length->least || point > 0x10FFFF || surrogate) return std::nullopt;
  text.remove_prefix(length->bytes);
  return point;
}

std::optional<std::u32string> code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const auto point = take_code_point(text);
    if (!point) return std::nullopt;
    points.push_back(*point);
  }
  return points;
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; }));
}

void append_utf8(char32_t point, std::string& text) {
  const auto low = [point](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += {static_cast<char>(0xC0 | point >> 6), low(0)};
  } else if (point < 0x10000) {
    text += {static_cast<char>(0xE0 | point >> 12), low(6), low(0)};
  } else {
    text += {static_cast<char>(0xF0 | point >> 18), low(12), low(6), low(0)};
  }
}

}  // namespace windrow
