#include "grammar/lexeme/format_patterns.h"

#include <fmt/format.h>

namespace windrow::grammar {
namespace {

// Alternatives or a sequence as one part of something larger.
std::string group(const std::string& pattern) {
  return "(?:" + pattern + ")";
}

std::string optional(const std::string& pattern) {
  return group(pattern) + "?";
}

std::string times(const std::string& pattern, int min, int max) {
  return fmt::format("(?:{}){{{},{}}}", pattern, min, max);
}

// Labels of up to `length` characters each, with dots between them.
std::string labels(int count_min, int count_max, int length) {
  // The third and fourth character of a label are not both a hyphen.
  const std::string label = fmt::format(
      "[A-Za-z0-9](?:[A-Za-z0-9-]{{0,2}}[A-Za-z0-9]"
      "|[A-Za-z0-9-](?:[A-Za-z0-9][A-Za-z0-9-]|-[A-Za-z0-9])[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?",
      length - 5);
  return label + times("\\." + label, count_min - 1, count_max - 1);
}

}  // namespace

std::string date_pattern() {
  const std::string leap =
      "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
  return "(?!0000)(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])"
         "|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|" +
         leap + "-02-29)";
}

std::string time_pattern() {
  const std::string fraction = "(?:\\.\\d{1,9})?";
  return "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d" + fraction +
         "(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)|23:59:60" + fraction + "Z";
}

std::string date_time_pattern() {
  return date_pattern() + "T" + group(time_pattern());
}

std::string duration_pattern() {
  const std::string number = "\\d{1,9}";
  const std::string minute = number + "M" + optional(number + "S");
  const std::string hour = number + "H" + optional(minute);
  const std::string time = "T" + group(hour + "|" + minute + "|" + number + "S");
  const std::string month = number + "M" + optional(number + "D");
  const std::string year = number + "Y" + optional(month);
  const std::string date = group(number + "D|" + month + "|" + year) + optional(time);
  return "P" + group(date + "|" + time + "|" + number + "W");
}

std::string hostname_pattern() {
  // 191, 247 and 247 characters.
  return labels(1, 3, 63) + "|" + labels(1, 8, 30) + "|" + labels(1, 31, 7);
}

std::string email_pattern() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
  // The last label is no number. Together at most 64 + 1 + 189.
  return "(?=[^@]{1,64}@)(?![^]*\\.\\d+$)" + atom + "+" + group("\\." + atom + "+") + "*@" +
         group(labels(2, 2, 63) + "|" + labels(2, 8, 22));
}

std::string ipv4_pattern() {
  const std::string octet = "(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])";
  return octet + times("\\." + octet, 3, 3);
}

std::string ipv6_pattern() {
  const std::string part = "[0-9A-Fa-f]{1,4}";
  const std::string last = group(part + ":" + part + "|" + ipv4_pattern());
  // As the grammar of RFC 3986: behind the :: so many parts, and before it the rest or fewer.
  std::string pattern = times(part + ":", 6, 6) + last;
  const auto add = [&](int before, const std::string& behind) {
    const std::string front = before == 0 ? "" : optional(times(part + ":", 0, before - 1) + part);
    pattern += "|" + front + "::" + behind;
  };
  for (int before = 0; before <= 5; ++before)
    add(before, times(part + ":", 5 - before, 5 - before) + last);
  add(6, part);
  add(7, "");
  return pattern;
}

std::string uuid_pattern() {
  return "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
}

std::string uri_pattern() {
  const std::string encoded = "%[0-9A-Fa-f]{2}";
  const std::string plain = "A-Za-z0-9._~!$&'()*+,;=\\-";
  const std::string in_path = group("[" + plain + ":@]|" + encoded);
  const std::string segments = "(?:/" + in_path + "*)*";
  const std::string user = "(?:(?:[" + plain + ":]|" + encoded + ")*@)?";
  const std::string host =
      "(?:\\[" + group(ipv6_pattern()) + "\\]|(?:[" + plain + "]|" + encoded + ")+)";
  const std::string port = "(?::(?:\\d{1,4}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d))?";
  const std::string rest = group("[" + plain + ":@/?]|" + encoded) + "*";
  return "[A-Za-z][A-Za-z0-9+.-]*:(?://" + user + host + port + segments + "|/(?:" + in_path + "+" +
         segments + ")?|" + in_path + "+" + segments + ")(?:\\?" + rest + ")?(?:#" + rest + ")?";
}

}  // namespace windrow::grammar
