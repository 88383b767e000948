// The readers of single formats for formats.h: each returns whether the whole text is of the
// format. And TextScanner, with which they read. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace windrow::schema {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
inline bool is_alnum(char c) {
  return is_alpha(c) || is_digit(c);
}
inline bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

inline bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Skips all characters that `belongs` accepts and returns their number.
  template <class Belongs>
  size_t skip(Belongs belongs) {
    size_t count = 0;
    while (count < rest_.size() && belongs(rest_[count]))
      ++count;
    rest_.remove_prefix(count);
    return count;
  }

  template <class Belongs>
  size_t skip_one(Belongs belongs) {
    if (rest_.empty() || !belongs(rest_.front())) return 0;
    rest_.remove_prefix(1);
    return 1;
  }

  // Reads exactly `count` digits, at most 9; nothing if they are not there.
  std::optional<int> digits(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }

 private:
  std::string_view rest_;
};

// --- addresses and URIs

bool is_ipv4(std::string_view text);  // RFC 2673, 3.2: "192.0.2.1", no zeros in front
bool is_ipv6(std::string_view text);  // RFC 4291, 2.2: no zone

bool is_uri(std::string_view text);            // RFC 3986, 3: with a scheme
bool is_uri_reference(std::string_view text);  // RFC 3986, 4.1
bool is_iri(std::string_view text);            // RFC 3987, 2.2
bool is_iri_reference(std::string_view text);

// --- pointers, templates, expressions, base64

bool is_json_pointer(std::string_view text);           // RFC 6901, 3
bool is_relative_json_pointer(std::string_view text);  // its draft, with moves of an index
bool is_uri_template(std::string_view text);           // RFC 6570
bool is_base64(std::string_view text);                 // RFC 4648, 4: padded, no line breaks

// ECMA-262 with the `u` flag: whether the syntax is right, also of what Pattern does not support.
bool is_regex(std::string_view text);

}  // namespace windrow::schema
