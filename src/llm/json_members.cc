#include "llm/json_members.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::llm {
namespace {

// Every step stays inside the text and moves forward.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char look() const { return at_end() ? '\0' : text_[at_]; }
  void step() { move(1); }

  void skip_space() {
    while (!at_end() && is_space(text_[at_]))
      ++at_;
  }

  std::string_view take_string() {
    const size_t begin = at_;
    step();
    while (!at_end() && text_[at_] != '"') {
      move(text_[at_] == '\\' ? 2 : 1);
    }
    step();
    return text_.substr(begin, at_ - begin);
  }

  std::string_view take_value() {
    const size_t begin = at_;
    size_t depth = 0;
    while (!at_end()) {
      const char byte = text_[at_];
      if (byte == '"') {
        take_string();
      } else if (byte == '{' || byte == '[') {
        ++depth;
        ++at_;
      } else if (byte == '}' || byte == ']') {
        if (depth == 0) break;
        --depth;
        ++at_;
      } else if (depth == 0 && (byte == ',' || is_space(byte))) {
        break;
      } else {
        ++at_;
        continue;  // inside a number or a word, which ends at one of the others
      }
      if (depth == 0) break;
    }
    return text_.substr(begin, at_ - begin);
  }

  static bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
  }

 private:
  void move(size_t count) { at_ = std::min(at_ + count, text_.size()); }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<JsonMember> json_members(std::string_view text) {
  std::vector<JsonMember> members;
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
  text.reserve(value.size());
  Walk walk(value);
  while (!walk.at_end()) {
    const char byte = walk.look();
    if (byte == '"') {
      text += walk.take_string();
      continue;
    }
    if (!Walk::is_space(byte)) text += byte;
    walk.step();
  }
  return text;
}

}  // namespace windrow::llm
