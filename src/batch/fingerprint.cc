#include "batch/fingerprint.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <string>

#include "base/hash.h"

namespace windrow::batch {
namespace {

// Walks JSON text that a parser has accepted. On other text the result means nothing, but every
// step stays inside the text and moves forward.
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

bool key_is(std::string_view quoted, std::string_view name) {
  if (quoted.size() < 2) return false;
  if (quoted.find('\\') == std::string_view::npos) {
    return quoted.substr(1, quoted.size() - 2) == name;
  }
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(boost::json::string_view(quoted.data(), quoted.size()), error);
  return !error && value.is_string() && std::string_view(value.get_string()) == name;
}

struct Members {
  std::string_view url;
  std::string_view body;
};

// Of two members of one name the last one counts, as for the parser.
Members find_members(std::string_view line) {
  Members members;
  Walk walk(line);
  walk.skip_space();
  walk.step();  // {
  while (!walk.at_end()) {
    walk.skip_space();
    if (walk.look() != '"') break;
    const std::string_view key = walk.take_string();
    walk.skip_space();
    walk.step();  // :
    walk.skip_space();
    const std::string_view value = walk.take_value();
    if (key_is(key, "url")) members.url = value;
    if (key_is(key, "body")) members.body = value;
    walk.skip_space();
    walk.step();  // , or }
  }
  return members;
}

void append_without_space(std::string_view value, std::string& text) {
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
}

}  // namespace

uint64_t row_fingerprint(std::string_view line, std::string_view custom_id) {
  const Members members = find_members(line);
  std::string text;
  text.reserve(members.url.size() + members.body.size() + 1);
  append_without_space(members.url, text);
  text += '\n';
  append_without_space(members.body, text);
  return hash64(text, hash64(custom_id));
}

uint64_t line_fingerprint(std::string_view bytes, uint64_t length) {
  return hash64(bytes, length);
}

}  // namespace windrow::batch
