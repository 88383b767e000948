#include "session/replies/blob_scanner.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "json/limits.h"
#include "json/members.h"

namespace windrow::session {

namespace {

// 16 bytes that a processor compares at once; compilers have a form for each.
using Lanes [[gnu::vector_size(16)]] = unsigned char;
using Words [[gnu::vector_size(16)]] = unsigned long long;
constexpr size_t kLanesAtOnce = 4;

bool ends_plain_text(char byte) {
  return byte == '"' || byte == '\\' || static_cast<unsigned char>(byte) < 0x20;
}

// The first byte of a string, from `at` on, that does not stand for itself; the size where there is
// none.
size_t plain_text_end(std::string_view bytes, size_t at) {
  while (bytes.size() - at >= kLanesAtOnce * sizeof(Lanes)) {
    Words found = {};
    for (size_t i = 0; i < kLanesAtOnce; ++i) {
      Lanes lanes;
      std::memcpy(&lanes, bytes.data() + at + i * sizeof(Lanes), sizeof(Lanes));
      found |= reinterpret_cast<Words>((lanes == '"') | (lanes == '\\') | (lanes < 0x20));
    }
    if ((found[0] | found[1]) != 0) break;
    at += kLanesAtOnce * sizeof(Lanes);
  }
  while (at < bytes.size() && !ends_plain_text(bytes[at]))
    ++at;
  return at;
}

bool is_json_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

// Of numbers, true, false and null.
constexpr std::array<bool, 256> kOfWord = [] {
  std::array<bool, 256> of_word{};
  for (const char byte : std::string_view("0123456789abcdefghijklmnopqrstuvwxyz-+.E"))
    of_word[static_cast<unsigned char>(byte)] = true;
  return of_word;
}();

bool is_of_word(char byte) {
  return kOfWord[static_cast<unsigned char>(byte)];
}

}  // namespace

BlobScanner::BlobScanner(std::vector<Blob> blobs, size_t rest_bytes_max)
    : blobs_(std::move(blobs)), used_(blobs_.size()), rest_bytes_max_(rest_bytes_max) {}

bool BlobScanner::fail(State state) {
  state_ = state;
  return false;
}

bool BlobScanner::take(std::string_view bytes) {
  if (state_ != State::kGoing && state_ != State::kWhole) return false;
  bytes_ += bytes.size();
  size_t at = 0;
  while (at < bytes.size() && state_ == State::kGoing) {
    if (part_ == Part::kBlobText) {
      take_blob_text(bytes, at);
    } else if (part_ == Part::kBlobNumbers) {
      take_blob_numbers(bytes, at);
    } else {
      take_rest(bytes, at);
    }
  }
  if (state_ == State::kWhole) {
    while (at < bytes.size() && is_json_space(bytes[at]))
      ++at;
    if (at < bytes.size()) return fail(State::kWrong);
  }
  return state_ == State::kGoing || state_ == State::kWhole;
}

// --- the rest ---

bool BlobScanner::keep(std::string_view bytes) {
  if (bytes.size() > rest_bytes_max_ - rest_.size()) return fail(State::kTooLong);
  rest_ += bytes;
  return true;
}

// Up to the next blob; all of it is copied at once.
void BlobScanner::take_rest(std::string_view bytes, size_t& at) {
  size_t begin = at;
  while (at < bytes.size() && state_ == State::kGoing) {
    if (part_ == Part::kStructure) {
      const char byte = bytes[at];
      if (byte == '"' && next_ == Next::kKey) key_begin_ = rest_.size() + (at - begin);
      const bool is_value = byte == '"' || byte == '[';
      if (is_value && next_ == Next::kValue && found_ != nullptr) {
        if (!keep(bytes.substr(begin, at - begin)) || !keep("null")) return;
        ++at;
        return begin_blob(byte);
      }
      if (!take_structure(byte)) return;
      ++at;
      // More of a word is as good as its beginning. A rest is numbers, most of all.
      if (is_of_word(byte)) {
        while (at < bytes.size() && is_of_word(bytes[at]))
          ++at;
      }
      continue;
    }
    at = end_of_string(bytes, at);
    if (at == bytes.size() || state_ != State::kGoing) break;
    ++at;  // the quotation mark
    if (part_ == Part::kKey) {
      if (!keep(bytes.substr(begin, at - begin))) return;
      begin = at;
      found_ = blob_of(std::string_view(rest_).substr(key_begin_));
      next_ = Next::kColon;
    } else {
      next_ = Next::kCommaOrEnd;
    }
    part_ = Part::kStructure;
  }
  if (state_ == State::kGoing || state_ == State::kWhole) keep(bytes.substr(begin, at - begin));
}

bool BlobScanner::take_structure(char byte) {
  if (is_json_space(byte)) return true;
  switch (byte) {
    case '"':
      if (open_.empty() || next_ == Next::kColon || next_ == Next::kCommaOrEnd)
        return fail(State::kWrong);
      part_ = next_ == Next::kKey ? Part::kKey : Part::kString;
      return true;
    case ':':
      if (next_ != Next::kColon) return fail(State::kWrong);
      next_ = Next::kValue;
      return true;
    case ',':
      if (next_ != Next::kCommaOrEnd) return fail(State::kWrong);
      next_ = open_.back() == '{' ? Next::kKey : Next::kValue;
      found_ = nullptr;
      return true;
    case '{':
    case '[':
      return open(byte);
    case '}':
      return close('{');
    case ']':
      return close('[');
    default:
      // A word or number, or more of it. The parser of the rest finds what is wrong with it.
      if (open_.empty() || !is_of_word(byte)) return fail(State::kWrong);
      if (next_ != Next::kValue && next_ != Next::kCommaOrEnd) return fail(State::kWrong);
      next_ = Next::kCommaOrEnd;
      return true;
  }
}

bool BlobScanner::open(char bracket) {
  if (next_ != Next::kValue || open_.size() == kJsonDepthMax) return fail(State::kWrong);
  open_ += bracket;
  next_ = bracket == '{' ? Next::kKey : Next::kValue;
  found_ = nullptr;
  return true;
}

bool BlobScanner::close(char bracket) {
  if (open_.empty() || open_.back() != bracket) return fail(State::kWrong);
  // [1,] and {"a":1,} pass here, and the parser of the rest refuses them.
  const Next empty = bracket == '{' ? Next::kKey : Next::kValue;
  if (next_ != Next::kCommaOrEnd && next_ != empty) return fail(State::kWrong);
  open_.pop_back();
  next_ = Next::kCommaOrEnd;
  if (open_.empty()) state_ = State::kWhole;
  return true;
}

// The place of the quotation mark that ends the string of the rest; the size where it is not there.
size_t BlobScanner::end_of_string(std::string_view bytes, size_t at) {
  while (at < bytes.size()) {
    if (escaped_) {
      escaped_ = false;
      ++at;
      continue;
    }
    at = plain_text_end(bytes, at);
    if (at == bytes.size() || bytes[at] == '"') return at;
    if (bytes[at] != '\\') {
      fail(State::kWrong);
      return at;
    }
    escaped_ = true;
    ++at;
  }
  return at;
}

// `key` with its quotation marks.
const BlobScanner::Blob* BlobScanner::blob_of(std::string_view key) {
  for (const Blob& blob : blobs_) {
    const std::string_view inside = key.substr(1, key.size() - 2);
    if (inside == blob.name) return &blob;
    if (inside.find('\\') != std::string_view::npos && json_key_is(key, blob.name)) return &blob;
  }
  return nullptr;
}

// --- blobs ---

void BlobScanner::begin_blob(char first) {
  const size_t index = static_cast<size_t>(found_ - blobs_.data());
  sink_ = used_[index] ? nullptr : found_->sink;
  used_[index] = true;
  found_ = nullptr;
  if (first == '"') {
    part_ = Part::kBlobText;
    return;
  }
  part_ = Part::kBlobNumbers;
  next_number_ = NextNumber::kElementOrEnd;
  depth_ = 1;
}

void BlobScanner::end_blob() {
  part_ = Part::kStructure;
  next_ = Next::kCommaOrEnd;
  if (sink_ != nullptr && !sink_->on_end()) fail(State::kRefused);
}

bool BlobScanner::give_text(std::string_view text) {
  if (sink_ == nullptr || text.empty() || sink_->on_text(text)) return true;
  return fail(State::kRefused);
}

void BlobScanner::take_blob_text(std::string_view bytes, size_t& at) {
  while (at < bytes.size()) {
    if (hex_digits_ > 0 || in_escape_) {
      const char byte = bytes[at++];
      if (!(hex_digits_ > 0 ? take_hex(byte) : take_escape(byte))) return;
      continue;
    }
    const size_t end = plain_text_end(bytes, at);
    // The second half of a surrogate pair has to follow the first one.
    const bool wants_escape = high_surrogate_ != 0;
    if (wants_escape && (end != at || (end < bytes.size() && bytes[end] != '\\'))) {
      fail(State::kWrong);
      return;
    }
    if (!give_text(bytes.substr(at, end - at))) return;
    at = end;
    if (at == bytes.size()) return;
    const char byte = bytes[at++];
    if (byte == '"') return end_blob();
    if (byte != '\\') {
      fail(State::kWrong);
      return;
    }
    in_escape_ = true;
  }
}

bool BlobScanner::take_escape(char byte) {
  in_escape_ = false;
  if (byte == 'u') {
    hex_digits_ = 4;
    hex_ = 0;
    return true;
  }
  if (high_surrogate_ != 0) return fail(State::kWrong);
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const size_t index = kLetters.find(byte);
  if (index == std::string_view::npos) return fail(State::kWrong);
  return give_text(kMeanings.substr(index, 1));
}

bool BlobScanner::take_hex(char byte) {
  uint32_t digit = 0;
  if (byte >= '0' && byte <= '9') {
    digit = static_cast<uint32_t>(byte - '0');
  } else if (byte >= 'a' && byte <= 'f') {
    digit = static_cast<uint32_t>(byte - 'a' + 10);
  } else if (byte >= 'A' && byte <= 'F') {
    digit = static_cast<uint32_t>(byte - 'A' + 10);
  } else {
    return fail(State::kWrong);
  }
  hex_ = hex_ * 16 + digit;
  if (--hex_digits_ > 0) return true;
  const bool is_high = hex_ >= 0xD800 && hex_ < 0xDC00;
  const bool is_low = hex_ >= 0xDC00 && hex_ < 0xE000;
  if (is_low != (high_surrogate_ != 0)) return fail(State::kWrong);
  if (is_high) {
    high_surrogate_ = hex_;
    return true;
  }
  uint32_t point = hex_;
  if (is_low) point = 0x10000 + ((high_surrogate_ - 0xD800) << 10) + (hex_ - 0xDC00);
  high_surrogate_ = 0;
  std::string text;
  append_utf8(static_cast<char32_t>(point), text);
  return give_text(text);
}

void BlobScanner::take_blob_numbers(std::string_view bytes, size_t& at) {
  while (at < bytes.size() && part_ == Part::kBlobNumbers) {
    const char byte = bytes[at];
    if (next_number_ >= NextNumber::kDigit) {
      if (byte >= '0' && byte <= '9') {
        if (!take_digit(byte)) return;
        ++at;
        continue;
      }
      if (!end_number()) return;
    }
    ++at;
    if (!is_json_space(byte) && !take_number_part(byte)) return;
  }
}

// A byte outside of numbers, or the first one of a number.
bool BlobScanner::take_number_part(char byte) {
  const bool element_may_come =
      next_number_ == NextNumber::kElementOrEnd || next_number_ == NextNumber::kElement;
  if (element_may_come && (byte == '-' || (byte >= '0' && byte <= '9'))) {
    negative_ = byte == '-';
    number_ = 0;
    next_number_ = NextNumber::kDigit;
    return negative_ || take_digit(byte);
  }
  if (element_may_come && byte == '[') {
    if (sink_ != nullptr && !sink_->on_open(depth_)) return fail(State::kRefused);
    ++depth_;
    next_number_ = NextNumber::kElementOrEnd;
    return true;
  }
  if (byte == ']' && next_number_ != NextNumber::kElement) {
    --depth_;
    next_number_ = NextNumber::kCommaOrEnd;
    if (depth_ == 0) {
      end_blob();
    } else if (sink_ != nullptr && !sink_->on_close(depth_)) {
      return fail(State::kRefused);
    }
    return state_ == State::kGoing;
  }
  if (byte == ',' && next_number_ == NextNumber::kCommaOrEnd) {
    next_number_ = NextNumber::kElement;
    return true;
  }
  // Fractions, exponents and other values are JSON, and no whole numbers.
  const bool is_value = element_may_come ? byte == '"' || byte == '{' || is_of_word(byte)
                                         : byte == '.' || byte == 'e' || byte == 'E';
  return fail(is_value ? State::kRefused : State::kWrong);
}

bool BlobScanner::take_digit(char digit) {
  if (next_number_ == NextNumber::kNoDigit) return fail(State::kWrong);
  const bool is_first = next_number_ == NextNumber::kDigit;
  next_number_ = is_first && digit == '0' ? NextNumber::kNoDigit : NextNumber::kDigits;
  constexpr uint64_t kMax = uint64_t{1} << 63;
  const uint64_t value = static_cast<uint64_t>(digit - '0');
  if (number_ > (kMax - value) / 10) return fail(State::kRefused);
  number_ = number_ * 10 + value;
  return true;
}

bool BlobScanner::end_number() {
  if (next_number_ == NextNumber::kDigit) return fail(State::kWrong);
  constexpr uint64_t kMax = uint64_t{1} << 63;
  if (!negative_ && number_ == kMax) return fail(State::kRefused);
  next_number_ = NextNumber::kCommaOrEnd;
  const int64_t number = static_cast<int64_t>(negative_ ? ~number_ + 1 : number_);
  if (sink_ == nullptr || sink_->on_number(number)) return true;
  return fail(State::kRefused);
}

}  // namespace windrow::session
