// JsonScanner: checks one JSON value byte by byte as it arrives (RFC 8259), without storing it.
// Pure; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace windrow {

class JsonScanner {
 public:
  enum class State : uint8_t {
    kGoing,  // the value is not complete
    kWhole,
    kWrong,  // the next byte cannot belong to the value
  };

  State state() const { return state_; }

  // Takes the bytes of `text` that belong to the value and returns their number. Appends them to
  // `value`, with control characters within strings escaped: models write those as they are. A
  // number that is the whole value ends at the first byte that is no part of it.
  size_t take(std::string_view text, std::string& value);

 private:
  enum class Expect : uint8_t {
    kValue,
    kElementOrEnd,  // behind [
    kMemberOrEnd,   // behind {
    kMember,
    kColon,
    kCommaOrEnd,
    kString,
    kEscape,
    kHex,
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
    kWord,
  };

  bool go_on(char byte, std::string& value);
  bool take_structure(char byte);
  bool take_string(char byte, std::string& value);
  bool take_hex(char byte);
  bool take_number(char byte);
  bool begin_value(char byte);
  bool close(char byte);
  bool is_number() const;
  bool number_may_end() const;
  void end_value();

  State state_ = State::kGoing;
  Expect expect_ = Expect::kValue;
  std::vector<char> open_;  // brackets
  bool is_key_ = false;     // of the string
  std::string_view word_;   // the rest of true, false or null
  uint32_t hex_ = 0;
  uint32_t hex_digits_ = 0;
  bool wants_low_ = false;  // the second half of a pair has to come
};

}  // namespace windrow
