#include "batch/fast_row_scanner.h"

#include <algorithm>
#include <cstring>

#include "batch/row.h"

namespace windrow::batch {
namespace {

// Of a number, true, false or null.
bool is_of_word(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || byte == '-' ||
         byte == '+' || byte == '.' || byte == 'E';
}

bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

// Walks over a line. Whatever does not fit makes it fail, and then it stays where it is.
class Walk {
 public:
  explicit Walk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char byte) {
    skip_space();
    if (at_ == end_ || *at_ != byte) return false;
    ++at_;
    return true;
  }

  bool at_end() {
    skip_space();
    return at_ == end_;
  }

  // A string of printable ASCII without escapes; with its quotes. Empty when it is none.
  std::string_view take_plain_string() {
    skip_space();
    const char* const begin = at_;
    if (at_ == end_ || *at_ != '"') return {};
    const char* byte = at_ + 1;
    while (byte != end_ && *byte != '"') {
      if (*byte < ' ' || *byte > '~' || *byte == '\\') return {};
      ++byte;
    }
    if (byte == end_) return {};
    at_ = byte + 1;
    return {begin, static_cast<size_t>(at_ - begin)};
  }

  // An object, to the brace that ends it, without the white space outside its strings; appended.
  bool take_object(std::string& text) {
    skip_space();
    return at_ != end_ && *at_ == '{' && take_nested(text);
  }

  // Any value, in the same way.
  bool take_value(std::string& text) {
    skip_space();
    if (at_ == end_) return false;
    if (*at_ == '{' || *at_ == '[') return take_nested(text);
    const char* const begin = at_;
    if (*at_ == '"') {
      at_ = end_of_string();
    } else {
      while (at_ != end_ && is_of_word(*at_))
        ++at_;
    }
    text.append(begin, at_);
    return at_ != begin;
  }

  // A number, or a word. Empty when it is none.
  std::string_view take_word() {
    skip_space();
    const char* const begin = at_;
    while (at_ != end_ && is_of_word(*at_))
      ++at_;
    return {begin, static_cast<size_t>(at_ - begin)};
  }

 private:
  // From an opening bracket to the one that ends it.
  bool take_nested(std::string& text) {
    const size_t before = text.size();
    text.resize(before + static_cast<size_t>(end_ - at_));
    char* out = text.data() + before;
    size_t depth = 0;
    while (at_ != end_) {
      const char byte = *at_;
      if (byte == '"') {
        const char* const string_end = end_of_string();
        out = std::copy(at_, string_end, out);
        at_ = string_end;
        continue;
      }
      ++at_;
      if (is_space(byte)) continue;
      *out++ = byte;
      if (byte == '{' || byte == '[') ++depth;
      if ((byte == '}' || byte == ']') && --depth == 0) {
        text.resize(static_cast<size_t>(out - text.data()));
        return true;
      }
    }
    return false;
  }

  void skip_space() {
    while (at_ != end_ && is_space(*at_))
      ++at_;
  }

  // Behind the quote that ends the string which begins here; the end where none does.
  const char* end_of_string() const {
    const char* from = at_ + 1;
    for (;;) {
      const auto* quote =
          static_cast<const char*>(std::memchr(from, '"', static_cast<size_t>(end_ - from)));
      if (quote == nullptr) return end_;
      const char* escapes = quote;
      while (escapes[-1] == '\\')
        --escapes;
      if ((quote - escapes) % 2 == 0) return quote + 1;
      from = quote + 1;
    }
  }

  const char* at_;
  const char* const end_;
};

std::string_view without_quotes(std::string_view text) {
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::optional<ScannedRow> FastRowScanner::scan_request(std::string_view line) {
  Walk walk(line);
  std::string_view custom_id;
  std::string_view url;
  std::string_view method;
  bool has_body = false;
  asked_.clear();
  if (!walk.take('{')) return std::nullopt;
  do {
    const std::string_view key = walk.take_plain_string();
    if (!walk.take(':')) return std::nullopt;
    if (key == "\"body\"") {
      if (has_body || url.empty()) return std::nullopt;
      asked_.append(url).push_back('\n');
      if (!walk.take_object(asked_)) return std::nullopt;
      has_body = true;
      continue;
    }
    std::string_view* const member = key == "\"custom_id\"" ? &custom_id
                                     : key == "\"url\""     ? &url
                                     : key == "\"method\""  ? &method
                                                            : nullptr;
    if (member == nullptr || !member->empty()) return std::nullopt;
    *member = walk.take_plain_string();
    if (member->empty()) return std::nullopt;
  } while (walk.take(','));
  const bool whole = walk.take('}') && walk.at_end() && has_body && custom_id.size() > 2 &&
                     (method.empty() || method == "\"POST\"");
  if (!whole) return std::nullopt;
  const std::string_view id = without_quotes(custom_id);
  return ScannedRow{.identity = row_identity(id), .fingerprint = hash64(asked_, hash64(id))};
}

std::optional<ScannedRow> FastRowScanner::scan_input(std::string_view line) {
  Walk walk(line);
  std::string_view custom_id;
  std::string_view seed;
  asked_.clear();
  if (!walk.take('{')) return std::nullopt;
  do {
    const std::string_view key = walk.take_plain_string();
    if (!walk.take(':')) return std::nullopt;
    if (key == "\"input\"") {
      if (!asked_.empty() || !walk.take_value(asked_)) return std::nullopt;
    } else if (key == "\"custom_id\"" && custom_id.empty()) {
      custom_id = walk.take_plain_string();
      if (custom_id.empty()) return std::nullopt;
    } else if (key == "\"seed\"" && seed.empty()) {
      seed = walk.take_word();
      if (seed.empty()) return std::nullopt;
    } else {
      return std::nullopt;
    }
  } while (walk.take(','));
  const bool whole = walk.take('}') && walk.at_end() && !asked_.empty() && custom_id.size() > 2;
  if (!whole) return std::nullopt;
  asked_ += '\n';
  asked_ += seed;
  const std::string_view id = without_quotes(custom_id);
  return ScannedRow{.identity = row_identity(id), .fingerprint = hash64(asked_, hash64(id))};
}

}  // namespace windrow::batch
