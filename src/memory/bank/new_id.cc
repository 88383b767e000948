#include "memory/bank/new_id.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/crypto.h"

namespace windrow::memory {
namespace {

constexpr std::array<size_t, 4> kHyphens = {8, 13, 18, 23};
constexpr size_t kUuidLength = 36;

}  // namespace

std::string new_uuid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes = secret_bytes(16);
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0FU) | 0x40U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3FU) | 0x80U);
  std::string text;
  text.reserve(kUuidLength);
  for (const char byte : bytes) {
    if (std::ranges::find(kHyphens, text.size()) != kHyphens.end()) text += '-';
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 0x0FU];
  }
  return text;
}

bool is_uuid(std::string_view text) {
  if (text.size() != kUuidLength) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = std::ranges::find(kHyphens, i) != kHyphens.end();
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (hyphen ? c != '-' : !digit) return false;
  }
  return true;
}

}  // namespace windrow::memory
