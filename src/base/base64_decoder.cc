#include "base/base64_decoder.h"

#include <algorithm>
#include <cstdint>

namespace windrow {
namespace {

constexpr uint32_t kInvalid = 1U << 31U;

// For each place in a group of four characters, what a character contributes to the 24 bits. Four
// tables instead of one save the shifts: 2 GB/s of a core instead of 1.2.
using Table = std::array<uint32_t, 256>;
constexpr std::array<Table, 4> make_tables() {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<Table, 4> tables{};
  for (size_t place = 0; place < tables.size(); ++place) {
    tables[place].fill(kInvalid);
    for (uint32_t value = 0; value < kAlphabet.size(); ++value)
      tables[place][static_cast<uint8_t>(kAlphabet[value])] = value << (18 - 6 * place);
  }
  return tables;
}
constexpr std::array<Table, 4> kTables = make_tables();

uint32_t bits_of(const char* group) {
  return kTables[0][static_cast<uint8_t>(group[0])] | kTables[1][static_cast<uint8_t>(group[1])] |
         kTables[2][static_cast<uint8_t>(group[2])] | kTables[3][static_cast<uint8_t>(group[3])];
}

char* put(uint32_t bits, char* to) {
  to[0] = static_cast<char>(bits >> 16U);
  to[1] = static_cast<char>(bits >> 8U);
  to[2] = static_cast<char>(bits);
  return to + 3;
}

}  // namespace

bool Base64Decoder::fail() {
  failed_ = true;
  return false;
}

// A group that may be the last one.
bool Base64Decoder::decode_group(const char* group, std::string& bytes) {
  std::array<char, 4> filled{};
  std::copy_n(group, 4, filled.begin());
  size_t count = 3;
  if (filled[3] == '=') {
    count = filled[2] == '=' ? 1 : 2;
    std::fill(filled.begin() + 1 + static_cast<std::ptrdiff_t>(count), filled.end(), 'A');
    ended_ = true;
  }
  const uint32_t bits = bits_of(filled.data());
  if ((bits & kInvalid) != 0) return fail();
  std::array<char, 3> decoded{};
  put(bits, decoded.data());
  bytes.append(decoded.data(), count);
  return true;
}

bool Base64Decoder::decode(std::string_view text, std::string& bytes) {
  if (failed_) return false;
  if (ended_) return text.empty() || fail();
  if (pending_ > 0) {
    const size_t count = std::min(group_.size() - pending_, text.size());
    std::copy_n(text.begin(), count, group_.begin() + static_cast<std::ptrdiff_t>(pending_));
    pending_ += count;
    text.remove_prefix(count);
    if (pending_ < group_.size()) return true;
    pending_ = 0;
    if (!decode_group(group_.data(), bytes)) return false;
    if (ended_) return text.empty() || fail();
  }

  const size_t start = bytes.size();
  bytes.resize(start + text.size() / 4 * 3);
  char* to = bytes.data() + start;
  const char* from = text.data();
  const char* const end = from + text.size() / 4 * 4;
  for (; from != end; from += 4) {
    const uint32_t bits = bits_of(from);
    if ((bits & kInvalid) != 0) break;  // padding, or a failure
    to = put(bits, to);
  }
  bytes.resize(static_cast<size_t>(to - bytes.data()));
  text.remove_prefix(static_cast<size_t>(from - text.data()));
  if (text.size() >= 4) {
    if (!decode_group(text.data(), bytes)) return false;
    text.remove_prefix(4);
    return text.empty() || fail();
  }
  pending_ = text.size();
  std::ranges::copy(text, group_.begin());
  return true;
}

}  // namespace windrow
