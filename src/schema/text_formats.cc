#include "schema/format_readers.h"

#include <algorithm>

namespace windrow::schema {
namespace {

bool take_encoded(TextScanner& text) {
  return text.take('%') && text.skip_one(is_hex) == 1 && text.skip_one(is_hex) == 1;
}

// varname, with the modifier behind it.
bool scan_variable(TextScanner& text) {
  bool dot_may_follow = false;
  while (true) {
    if (text.skip_one([](char c) { return is_alnum(c) || c == '_'; }) == 1) {
      dot_may_follow = true;
    } else if (text.peek() == '%') {
      if (!take_encoded(text)) return false;
      dot_may_follow = true;
    } else if (text.peek() == '.' && dot_may_follow) {
      text.take('.');
      dot_may_follow = false;
    } else {
      break;
    }
  }
  if (!dot_may_follow) return false;  // nothing was there, or a dot was the last
  if (text.take('*')) return true;
  if (!text.take(':')) return true;
  if (text.skip_one([](char c) { return c >= '1' && c <= '9'; }) == 0) return false;
  return text.skip(is_digit) <= 3;
}

bool scan_expression(TextScanner& text) {
  text.skip_one([](char c) { return is_one_of(c, "+#./;?&"); });
  do {
    if (!scan_variable(text)) return false;
  } while (text.take(','));
  return text.take('}');
}

}  // namespace

bool is_json_pointer(std::string_view all) {
  TextScanner text(all);
  if (text.at_end()) return true;
  if (text.peek() != '/') return false;
  while (!text.at_end()) {
    text.skip([](char c) { return c != '~'; });
    if (text.take('~') && !text.take('0') && !text.take('1')) return false;
  }
  return true;
}

bool is_relative_json_pointer(std::string_view all) {
  TextScanner text(all);
  if (!text.take('0') && text.skip(is_digit) == 0) return false;
  if (text.take('+') || text.take('-')) {
    if (text.peek() == '0' || text.skip(is_digit) == 0) return false;
  }
  if (text.take('#')) return text.at_end();
  return is_json_pointer(text.rest());
}

bool is_uri_template(std::string_view all) {
  TextScanner text(all);
  while (!text.at_end()) {
    if (text.take('{')) {
      if (!scan_expression(text)) return false;
    } else if (text.peek() == '%') {
      if (!take_encoded(text)) return false;
    } else if (text.skip_one([](char c) {
                 const auto byte = static_cast<unsigned char>(c);
                 return byte > ' ' && byte != 0x7F && !is_one_of(c, "\"<>\\^`|}");
               }) == 0) {
      return false;
    }
  }
  return true;
}

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  size_t end = text.size();
  while (end > 0 && text.size() - end < 2 && text[end - 1] == '=')
    --end;
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return is_alnum(c) || c == '+' || c == '/'; });
}

}  // namespace windrow::schema
