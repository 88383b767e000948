#include "json/scanner.h"

#include <fmt/format.h>

#include <iterator>

#include "json/limits.h"

namespace windrow {
namespace {

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

bool is_white(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20;
}

}  // namespace

size_t JsonScanner::take(std::string_view text, std::string& value) {
  size_t taken = 0;
  while (state_ == State::kGoing && taken < text.size()) {
    if (!go_on(text[taken], value)) break;
    ++taken;
  }
  return taken;
}

// False where the byte is not taken: it is wrong, or the value ended before it.
bool JsonScanner::go_on(char byte, std::string& value) {
  if (is_number()) {
    if (take_number(byte)) {
      value += byte;
      return true;
    }
    if (!number_may_end()) {
      state_ = State::kWrong;
      return false;
    }
    end_value();
    return state_ == State::kGoing && go_on(byte, value);
  }
  bool taken = false;
  switch (expect_) {
    case Expect::kString:
    case Expect::kEscape:
    case Expect::kHex:
      taken = take_string(byte, value);
      break;
    case Expect::kWord:
      taken = byte == word_.front();
      if (taken) {
        value += byte;
        word_.remove_prefix(1);
        if (word_.empty()) end_value();
      }
      break;
    default:
      taken = is_white(byte) || take_structure(byte);
      if (taken) value += byte;
      break;
  }
  if (!taken) state_ = State::kWrong;
  return taken;
}

bool JsonScanner::take_structure(char byte) {
  switch (expect_) {
    case Expect::kElementOrEnd:
      return byte == ']' ? close('[') : begin_value(byte);
    case Expect::kMemberOrEnd:
      if (byte == '}') return close('{');
      [[fallthrough]];
    case Expect::kMember:
      if (byte != '"') return false;
      is_key_ = true;
      expect_ = Expect::kString;
      return true;
    case Expect::kColon:
      if (byte != ':') return false;
      expect_ = Expect::kValue;
      return true;
    case Expect::kCommaOrEnd:
      if (byte == ']') return close('[');
      if (byte == '}') return close('{');
      if (byte != ',') return false;
      expect_ = open_.back() == '{' ? Expect::kMember : Expect::kValue;
      return true;
    default:
      return begin_value(byte);
  }
}

bool JsonScanner::begin_value(char byte) {
  switch (byte) {
    case '{':
    case '[':
      if (open_.size() == kJsonDepthMax) return false;
      open_.push_back(byte);
      expect_ = byte == '{' ? Expect::kMemberOrEnd : Expect::kElementOrEnd;
      return true;
    case '"':
      is_key_ = false;
      expect_ = Expect::kString;
      return true;
    case '-':
      expect_ = Expect::kMinus;
      return true;
    case 't':
      word_ = "rue";
      break;
    case 'f':
      word_ = "alse";
      break;
    case 'n':
      word_ = "ull";
      break;
    default:
      if (!is_digit(byte)) return false;
      expect_ = byte == '0' ? Expect::kZero : Expect::kDigits;
      return true;
  }
  expect_ = Expect::kWord;
  return true;
}

bool JsonScanner::close(char opened) {
  if (open_.empty() || open_.back() != opened) return false;
  open_.pop_back();
  end_value();
  return true;
}

void JsonScanner::end_value() {
  if (open_.empty()) {
    state_ = State::kWhole;
  } else {
    expect_ = Expect::kCommaOrEnd;
  }
}

bool JsonScanner::take_string(char byte, std::string& value) {
  if (expect_ == Expect::kHex) {
    if (!take_hex(byte)) return false;
    value += byte;
    return true;
  }
  if (expect_ == Expect::kEscape) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    if (byte == 'u') {
      hex_ = 0;
      hex_digits_ = 0;
      expect_ = Expect::kHex;
    } else if (wants_low_ || kEscapes.find(byte) == std::string_view::npos) {
      return false;
    } else {
      expect_ = Expect::kString;
    }
    value += byte;
    return true;
  }
  if (byte == '\\') {
    expect_ = Expect::kEscape;
  } else if (wants_low_) {
    return false;
  } else if (byte == '"') {
    if (is_key_) {
      expect_ = Expect::kColon;
    } else {
      end_value();
    }
  } else if (is_control(byte)) {
    fmt::format_to(std::back_inserter(value), "\\u{:04x}", static_cast<unsigned char>(byte));
    return true;
  }
  value += byte;
  return true;
}

bool JsonScanner::take_hex(char byte) {
  uint32_t digit = 0;
  if (is_digit(byte)) {
    digit = static_cast<uint32_t>(byte - '0');
  } else if (byte >= 'a' && byte <= 'f') {
    digit = static_cast<uint32_t>(byte - 'a') + 10;
  } else if (byte >= 'A' && byte <= 'F') {
    digit = static_cast<uint32_t>(byte - 'A') + 10;
  } else {
    return false;
  }
  hex_ = hex_ * 16 + digit;
  if (++hex_digits_ < 4) return true;
  const bool high = hex_ >= 0xD800 && hex_ <= 0xDBFF;
  const bool low = hex_ >= 0xDC00 && hex_ <= 0xDFFF;
  if (low != wants_low_) return false;
  wants_low_ = high;
  expect_ = Expect::kString;
  return true;
}

bool JsonScanner::is_number() const {
  return expect_ >= Expect::kMinus && expect_ <= Expect::kExponentDigits;
}

bool JsonScanner::number_may_end() const {
  return expect_ == Expect::kZero || expect_ == Expect::kDigits || expect_ == Expect::kFraction ||
         expect_ == Expect::kExponentDigits;
}

bool JsonScanner::take_number(char byte) {
  const bool digit = is_digit(byte);
  const bool exponent = byte == 'e' || byte == 'E';
  switch (expect_) {
    case Expect::kMinus:
      if (!digit) return false;
      expect_ = byte == '0' ? Expect::kZero : Expect::kDigits;
      return true;
    case Expect::kZero:
    case Expect::kDigits:
      if (byte == '.') {
        expect_ = Expect::kPoint;
      } else if (exponent) {
        expect_ = Expect::kExponent;
      } else {
        return digit && expect_ == Expect::kDigits;
      }
      return true;
    case Expect::kPoint:
    case Expect::kFraction:
      if (exponent && expect_ == Expect::kFraction) {
        expect_ = Expect::kExponent;
        return true;
      }
      if (digit) expect_ = Expect::kFraction;
      return digit;
    case Expect::kExponent:
      if (byte == '+' || byte == '-') {
        expect_ = Expect::kExponentSign;
        return true;
      }
      [[fallthrough]];
    default:
      if (digit) expect_ = Expect::kExponentDigits;
      return digit;
  }
}

}  // namespace windrow
