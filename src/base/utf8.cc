#include "base/utf8.h"

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

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What a lead byte asks for: how many bytes, and the range of the second (Unicode table 3-7).
struct Lead {
  size_t length = 0;  // 0: not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// The longest well-formed beginning of one character at the front of `bytes`.
struct Scan {
  size_t length;  // bytes that belong together, at least 1
  bool whole;     // they are a character
  bool cut;       // they would be, if the text went on
};

Scan scan_character(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<uint8_t>(bytes[0]));
  if (lead.length == 0) return {1, false, false};
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {i, false, false};
  }
  return {lead.length, true, false};
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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_code_point(text)) return false;
  }
  return true;
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

size_t utf8_incomplete_tail(std::string_view bytes) {
  for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const std::string_view tail = bytes.substr(bytes.size() - back);
    const Scan scan = scan_character(tail);
    if (scan.cut && scan.length == back) return back;
  }
  return 0;
}

std::string utf8_repair(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Scan scan = scan_character(bytes);
    text += scan.whole ? bytes.substr(0, scan.length) : kReplacement;
    bytes.remove_prefix(scan.length);
  }
  return text;
}

}  // namespace windrow
