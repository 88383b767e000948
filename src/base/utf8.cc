#include "base/utf8.h"

#include <cstdint>

namespace windrow {
namespace {

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
