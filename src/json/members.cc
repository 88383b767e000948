#include "json/members.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdint>

namespace windrow {
namespace {

// The members of a row, or of its body; more cost another allocation.
constexpr size_t kMembersUsual = 8;

// The kinds of bytes for a walk over values that a parser has accepted.
enum class Byte : uint8_t { kOther, kSpace, kQuote, kOpen, kClose, kComma };

constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> bytes{};
  for (const char space : {' ', '\t', '\n', '\r'})
    bytes[static_cast<unsigned char>(space)] = Byte::kSpace;
  for (const char open : {'{', '['})
    bytes[static_cast<unsigned char>(open)] = Byte::kOpen;
  for (const char close : {'}', ']'})
    bytes[static_cast<unsigned char>(close)] = Byte::kClose;
  bytes['"'] = Byte::kQuote;
  bytes[','] = Byte::kComma;
  return bytes;
}();

Byte kind_of(char byte) {
  return kBytes[static_cast<unsigned char>(byte)];
}

// Every step stays inside the text and moves forward.
class Walk {
 public:
  explicit Walk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() const { return at_ == end_; }
  char look() const { return at_end() ? '\0' : *at_; }
  void step() { at_ += at_end() ? 0 : 1; }

  void skip_space() {
    while (at_ != end_ && is_space(*at_))
      ++at_;
  }

  std::string_view take_string() {
    const char* const begin = at_;
    step();
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\' && ++at_ == end_) break;
    }
    step();
    return between(begin, at_);
  }

  // Up to a quote or the end of the text; white space is left out of it.
  std::string_view take_solid() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"' && !is_space(*at_))
      ++at_;
    return between(begin, at_);
  }

  std::string_view take_value() {
    const char* const begin = at_;
    size_t depth = 0;
    while (at_ != end_) {
      const Byte kind = kind_of(*at_);
      if (kind == Byte::kQuote) {
        take_string();
      } else if (kind == Byte::kOpen) {
        ++depth;
        ++at_;
      } else if (kind == Byte::kClose) {
        if (depth == 0) break;
        --depth;
        ++at_;
      } else if (depth == 0 && (kind == Byte::kComma || kind == Byte::kSpace)) {
        break;
      } else {
        ++at_;
        continue;  // inside a number or a word, which ends at one of the others
      }
      if (depth == 0) break;
    }
    return between(begin, at_);
  }

  static bool is_space(char byte) { return kind_of(byte) == Byte::kSpace; }

 private:
  static std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<size_t>(end - begin)};
  }

  const char* at_;
  const char* const end_;
};

}  // namespace

std::vector<JsonMember> json_members(std::string_view text) {
  std::vector<JsonMember> members;
  members.reserve(kMembersUsual);
  Walk walk(text);
  walk.skip_space();
  walk.step();  // {
  while (!walk.at_end()) {
    walk.skip_space();
    if (walk.look() != '"') break;
    JsonMember member;
    member.key = walk.take_string();
    walk.skip_space();
    walk.step();  // :
    walk.skip_space();
    member.value = walk.take_value();
    members.push_back(member);
    walk.skip_space();
    walk.step();  // , or }
  }
  return members;
}

std::vector<std::string_view> json_elements(std::string_view text) {
  std::vector<std::string_view> elements;
  Walk walk(text);
  walk.skip_space();
  walk.step();  // [
  while (!walk.at_end()) {
    walk.skip_space();
    const std::string_view element = walk.take_value();
    if (element.empty()) break;
    elements.push_back(element);
    walk.skip_space();
    walk.step();  // , or ]
  }
  return elements;
}

bool json_key_is(std::string_view key, std::string_view name) {
  if (key.size() < 2) return false;
  if (key.find('\\') == std::string_view::npos) return key.substr(1, key.size() - 2) == name;
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(boost::json::string_view(key.data(), key.size()), error);
  return !error && value.is_string() && std::string_view(value.get_string()) == name;
}

std::string_view json_member(const std::vector<JsonMember>& members, std::string_view name) {
  const auto found = std::find_if(members.rbegin(), members.rend(), [&](const JsonMember& member) {
    return json_key_is(member.key, name);
  });
  return found == members.rend() ? std::string_view() : found->value;
}

std::string json_without_space(std::string_view value) {
  std::string text;
  append_json_without_space(value, text);
  return text;
}

void append_json_without_space(std::string_view value, std::string& text) {
  text.reserve(text.size() + value.size());
  Walk walk(value);
  while (!walk.at_end()) {
    if (walk.look() == '"') text += walk.take_string();
    text += walk.take_solid();
    walk.skip_space();
  }
}

}  // namespace windrow
