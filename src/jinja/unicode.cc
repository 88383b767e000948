#include "jinja/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace windrow::jinja {
namespace {

struct PropertyRange {
  uint32_t first;
  uint32_t last;
  uint16_t mask;
};

struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint32_t stride;
  int32_t delta;
};

struct LongCase {
  uint32_t character;
  const char* text;
};

#include "jinja/unicode_tables.inc"

enum Property : uint16_t {
  kAlpha = 1,
  kDecimal = 2,
  kDigit = 4,
  kNumeric = 8,
  kSpace = 16,
  kPrintable = 32,
  kUpperCase = 64,
  kLowerCase = 128,
  kTitleCase = 256,
};

bool has(char32_t c, Property property) {
  const auto* found = std::upper_bound(
      std::begin(kProperties), std::end(kProperties), c,
      [](char32_t code, const PropertyRange& range) { return code < range.first; });
  if (found == std::begin(kProperties)) return false;
  --found;
  return c <= found->last && (found->mask & property) != 0;
}

template <size_t N, size_t M>
void append_case(std::string& text, char32_t c, const CaseRange (&ranges)[N],
                 const LongCase (&longer)[M]) {
  const auto* range =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t code, const CaseRange& r) { return code < r.first; });
  // Runs of stride 2 may lie between the letters of each other, so two of them may hold c.
  for (int looked = 0; range != std::begin(ranges) && looked < 4; ++looked) {
    --range;
    if (c <= range->last && (c - range->first) % range->stride == 0) {
      append_utf8(text, static_cast<char32_t>(static_cast<int32_t>(c) + range->delta));
      return;
    }
  }
  const auto* found = std::find_if(std::begin(longer), std::end(longer),
                                   [c](const LongCase& l) { return l.character == c; });
  if (found != std::end(longer)) {
    text += found->text;
  } else {
    append_utf8(text, c);
  }
}

}  // namespace

char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0};
  };
  const uint8_t lead = byte(at);
  if (lead < 0x80) {
    ++at;
    return lead;
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  char32_t c = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i)
    c = (c << 6) | (byte(at + i) & 0x3FU);
  at = std::min(at + length, text.size());
  return c;
}

size_t previous_position(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80);
  return at;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

bool is_alpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return has(c, kAlpha);
}
bool is_decimal(char32_t c) {
  return has(c, kDecimal);
}
bool is_digit(char32_t c) {
  return has(c, kDigit);
}
bool is_numeric(char32_t c) {
  return has(c, kNumeric);
}
bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
  return has(c, kSpace);
}
bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  return has(c, kPrintable);
}
bool is_upper(char32_t c) {
  return has(c, kUpperCase);
}
bool is_lower(char32_t c) {
  return has(c, kLowerCase);
}
bool is_titlecase(char32_t c) {
  return has(c, kTitleCase);
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

void append_upper(std::string& text, char32_t c) {
  append_case(text, c, kUpper, kUpperLong);
}
void append_lower(std::string& text, char32_t c) {
  append_case(text, c, kLower, kLowerLong);
}
void append_title(std::string& text, char32_t c) {
  append_case(text, c, kTitle, kTitleLong);
}
void append_casefold(std::string& text, char32_t c) {
  append_case(text, c, kCasefold, kCasefoldLong);
}

}  // namespace windrow::jinja
