#include "schema/internet_names.h"

#include <algorithm>

#include "schema/text_scanner.h"

namespace windrow::schema {
namespace {

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

bool is_unreserved(char c) {
  return is_alnum(c) || is_one_of(c, "-._~");
}
bool is_sub_delimiter(char c) {
  return is_one_of(c, "!$&'()*+,;=");
}

// Characters of the set, unreserved ones, sub-delimiters, and percent-encoded ones, to the end.
bool consists_of(std::string_view text, std::string_view more) {
  TextScanner left(text);
  while (!left.at_end()) {
    if (left.take('%')) {
      if (left.skip_one(is_hex) == 0 || left.skip_one(is_hex) == 0) return false;
    } else if (left.skip_one([&](char c) {
                 return is_unreserved(c) || is_sub_delimiter(c) || is_one_of(c, more);
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

bool is_uri(std::string_view all) {
  TextScanner scheme(all);
  if (scheme.skip_one(is_alpha) == 0) return false;
  scheme.skip([](char c) { return is_alnum(c) || is_one_of(c, "+-."); });
  if (!scheme.take(':')) return false;
  std::string_view rest = scheme.rest();
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

}  // namespace windrow::schema
