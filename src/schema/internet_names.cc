#include "schema/format_readers.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/utf8.h"

namespace windrow::schema {
namespace {

bool is_unreserved(char c) {
  return is_alnum(c) || is_one_of(c, "-._~");
}
bool is_sub_delimiter(char c) {
  return is_one_of(c, "!$&'()*+,;=");
}

// Which of them a text may have is decided before it is taken apart.
bool is_not_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

// Characters of the set, unreserved ones, sub-delimiters, and percent-encoded ones, to the end.
bool consists_of(std::string_view text, std::string_view more) {
  TextScanner left(text);
  while (!left.at_end()) {
    if (left.take('%')) {
      if (left.skip_one(is_hex) == 0 || left.skip_one(is_hex) == 0) return false;
    } else if (left.skip_one([&](char c) {
                 return is_unreserved(c) || is_sub_delimiter(c) || is_one_of(c, more) ||
                        is_not_ascii(c);
               }) == 0) {
      return false;
    }
  }
  return true;
}

bool is_ip_future(std::string_view text) {
  TextScanner left(text);
  if (!left.take('v') && !left.take('V')) return false;
  if (left.skip(is_hex) == 0 || !left.take('.')) return false;
  const size_t count =
      left.skip([](char c) { return is_unreserved(c) || is_sub_delimiter(c) || c == ':'; });
  return count > 0 && left.at_end();
}

bool is_authority(std::string_view text) {
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    if (!consists_of(text.substr(0, at), ":")) return false;
    text.remove_prefix(at + 1);
  }
  size_t host_end = 0;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    const std::string_view address = text.substr(1, close - 1);
    if (!is_ipv6(address) && !is_ip_future(address)) return false;
    host_end = close + 1;
  } else {
    host_end = std::min(text.find(':'), text.size());
    if (!consists_of(text.substr(0, host_end), "")) return false;
  }
  std::string_view port = text.substr(host_end);
  if (port.empty()) return true;
  if (!port.starts_with(':')) return false;
  port.remove_prefix(1);
  return std::all_of(port.begin(), port.end(), is_digit);
}

// The text after "scheme:"; nothing if there is none.
std::optional<std::string_view> behind_scheme(std::string_view text) {
  TextScanner scheme(text);
  if (scheme.skip_one(is_alpha) == 0) return std::nullopt;
  scheme.skip([](char c) { return is_alnum(c) || is_one_of(c, "+-."); });
  if (!scheme.take(':')) return std::nullopt;
  return scheme.rest();
}

bool is_behind_scheme(std::string_view rest) {
  if (const size_t mark = rest.find('#'); mark != std::string_view::npos) {
    if (!consists_of(rest.substr(mark + 1), ":@/?")) return false;
    rest = rest.substr(0, mark);
  }
  if (const size_t mark = rest.find('?'); mark != std::string_view::npos) {
    if (!consists_of(rest.substr(mark + 1), ":@/?")) return false;
    rest = rest.substr(0, mark);
  }
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const size_t path = std::min(rest.find('/'), rest.size());
    if (!is_authority(rest.substr(0, path))) return false;
    rest.remove_prefix(path);
  }
  return consists_of(rest, ":@/");
}

// Without a scheme the first part of the path has no colon.
bool is_reference(std::string_view text) {
  if (const std::optional<std::string_view> rest = behind_scheme(text))
    return is_behind_scheme(*rest);
  const std::string_view first = text.substr(0, text.find_first_of("/?#"));
  return first.find(':') == std::string_view::npos && is_behind_scheme(text);
}

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_not_ascii);
}

// RFC 3987: ucschar, and iprivate in a query.
bool has_international(std::string_view text) {
  const std::optional<std::u32string> points = code_points(text);
  if (!points) return false;
  bool in_query = false;
  for (const char32_t c : *points) {
    if (c == U'#') in_query = false;
    if (c == U'?') in_query = true;
    if (c < 0x80) continue;
    const bool is_private = (c >= 0xE000 && c < 0xF900) || c >= 0xF0000;
    const bool is_word = c >= 0xA0 && !(c >= 0xFDD0 && c < 0xFDF0) &&
                         !(c >= 0xFFF0 && c < 0x10000) && !(c >= 0xE0000 && c < 0xE1000);
    if ((c & 0xFFFEU) == 0xFFFE || !is_word || (is_private && !in_query)) return false;
  }
  return true;
}

}  // namespace

bool is_ipv4(std::string_view all) {
  TextScanner text(all);
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !text.take('.')) return false;
    const std::string_view before = text.rest();
    const size_t count = text.skip(is_digit);
    if (count == 0 || count > 3) return false;
    if (count > 1 && before.front() == '0') return false;
    if (TextScanner(before).digits(count).value_or(256) > 255) return false;
  }
  return text.at_end();
}

bool is_ipv6(std::string_view all) {
  // Eight groups; "::" stands for one or more that are 0; the last two may be an IPv4 address.
  TextScanner text(all);
  int groups = 0;
  bool shortened = false;
  if (text.rest().starts_with("::")) {
    text = TextScanner(all.substr(2));
    shortened = true;
    if (text.at_end()) return true;
  }
  while (true) {
    if (text.rest().find('.') != std::string_view::npos &&
        text.rest().find(':') == std::string_view::npos) {
      if (!is_ipv4(text.rest())) return false;
      groups += 2;
      break;
    }
    const size_t count = text.skip(is_hex);
    if (count == 0 || count > 4) return false;
    ++groups;
    if (text.at_end()) break;
    if (!text.take(':')) return false;
    if (text.take(':')) {
      if (shortened) return false;
      shortened = true;
      if (text.at_end()) break;
    }
  }
  return shortened ? groups <= 7 : groups == 8;
}

bool is_uri(std::string_view text) {
  const std::optional<std::string_view> rest = behind_scheme(text);
  return is_ascii(text) && rest && is_behind_scheme(*rest);
}

bool is_uri_reference(std::string_view text) {
  return is_ascii(text) && is_reference(text);
}

bool is_iri(std::string_view text) {
  const std::optional<std::string_view> rest = behind_scheme(text);
  return rest && has_international(text) && is_behind_scheme(*rest);
}

bool is_iri_reference(std::string_view text) {
  return has_international(text) && is_reference(text);
}

}  // namespace windrow::schema
