#include "grammar/lexeme/formats.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "base/ensure.h"
#include "grammar/lexeme/regex.h"

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

constexpr std::string_view kEncoded = "%[0-9A-Fa-f]{2}";

// RFC 3987's ucschar without what changes the direction of writing, and iprivate; within a class.
constexpr std::string_view kInternational =
    "\\u00A0-\\u200D\\u2010-\\u2029\\u202F-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF"
    "\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}"
    "\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}"
    "\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}"
    "\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}";
constexpr std::string_view kPrivate = "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}";

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

// RFC 3986, and with more characters RFC 3987. A scheme has something behind it, and an authority
// is empty only before a path.
class UriPatterns {
 public:
  // `more`: characters that may stand wherever letters do; `more_in_query`: there besides.
  UriPatterns(std::string_view more, std::string_view more_in_query) {
    const std::string plain = fmt::format("A-Za-z0-9._~!$&'()*+,;=\\-{}", more);
    const auto one_of = [](const std::string& characters) {
      return fmt::format("(?:[{}]|{})", characters, kEncoded);
    };
    in_path_ = one_of(plain + ":@");
    first_in_path_ = one_of(plain + "@");
    segments_ = fmt::format("(?:/{}*)*", in_path_);
    const std::string user = fmt::format("(?:{}*@)?", one_of(plain + ":"));
    const std::string host = fmt::format("(?:\\[{}\\]|{}+)", group(ipv6_pattern()), one_of(plain));
    const std::string port = "(?::(?:\\d{1,4}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d))?";
    network_ =
        fmt::format("//(?:{}{}{}{}|/{}*{})", user, host, port, segments_, in_path_, segments_);
    rest_ =
        fmt::format("(?:\\?{}*)?(?:#{}*)?", one_of(fmt::format("{}:@/?{}", plain, more_in_query)),
                    one_of(plain + ":@/?"));
  }

  std::string absolute() const {
    return fmt::format("[A-Za-z][A-Za-z0-9+.-]*:(?:{}|/(?:{}+{})?|{}+{}){}", network_, in_path_,
                       segments_, in_path_, segments_, rest_);
  }
  std::string relative() const {
    return fmt::format("(?:{}|/(?:{}+{})?|{}+{})?{}", network_, in_path_, segments_, first_in_path_,
                       segments_, rest_);
  }

 private:
  std::string in_path_;        // one character of a path
  std::string first_in_path_;  // in its first part, where a colon would end a scheme
  std::string segments_;
  std::string network_;
  std::string rest_;
};

// Labels of up to `length` characters each, with dots between them.
std::string labels(int count_min, int count_max, int length) {
  // The third and fourth character of a label are not both a hyphen.
  const std::string label = fmt::format(
      "[A-Za-z0-9](?:[A-Za-z0-9-]{{0,2}}[A-Za-z0-9]"
      "|[A-Za-z0-9-](?:[A-Za-z0-9][A-Za-z0-9-]|-[A-Za-z0-9])[A-Za-z0-9-]{{0,{}}}[A-Za-z0-9])?",
      length - 5);
  return label + times("\\." + label, count_min - 1, count_max - 1);
}

// Labels of which some are not ASCII: small letters and signs of words that IDNA 2008 allows
// whatever is around them (RFC 5892, PVALID). A label of 11 of them has at most 63 characters in
// Punycode.
std::string idn_labels(int count_min) {
  constexpr std::string_view kLetters =
      "a-z\\u00DF-\\u00F6\\u00F8-\\u00FF\\u03B1-\\u03C9\\u0430-\\u045F\\u3041-\\u3096"
      "\\u30A1-\\u30FA\\u4E00-\\u9FA5\\uAC00-\\uD7A3";
  const std::string label = fmt::format("[0-9{}]{{1,11}}\\.", kLetters);
  return times(label, count_min - 1, 2) + fmt::format("[{}]{{1,11}}", kLetters);
}

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

std::string uuid_pattern() {
  return "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
}

std::string uri_pattern() {
  return UriPatterns("", "").absolute();
}

std::string uri_reference_pattern() {
  const UriPatterns uri("", "");
  return uri.absolute() + "|" + uri.relative();
}

std::string iri_pattern() {
  return UriPatterns(kInternational, kPrivate).absolute();
}

std::string iri_reference_pattern() {
  const UriPatterns iri(kInternational, kPrivate);
  return iri.absolute() + "|" + iri.relative();
}

std::string uri_template_pattern() {
  const std::string literal = fmt::format("[!#$&()*+,./0-9:;=?@A-Z[\\]_a-z~\\-{}{}]|{}",
                                          kInternational, kPrivate, kEncoded);
  const std::string variable =
      fmt::format("(?:[A-Za-z0-9_]|{})+(?::[1-9]\\d{{0,3}}|\\*)?", kEncoded);
  return fmt::format("(?:{}|\\{{[+#./;?&]?{}(?:,{})*\\}})*", literal, variable, variable);
}

std::string json_pointer_pattern() {
  return "(?:/(?:[^/~]|~[01])*)*";
}

std::string relative_json_pointer_pattern() {
  return "(?:0|[1-9]\\d{0,8})(?:#|" + json_pointer_pattern() + ")";
}

std::string byte_pattern() {
  // Bits that stand for nothing are 0.
  return "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?";
}

std::string regex_pattern() {
  // Ranges within a class go upwards.
  std::string ranges;
  for (const std::string_view letters :
       {"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}) {
    for (const char first : letters)
      ranges += fmt::format("|{}-[{}-{}]", first, first, letters.back());
  }
  const std::string escape =
      "\\\\(?:[dDwWsSntrfv^$\\\\.*+?()\\[\\]{}|/]|x[0-9A-Fa-f]{2}|u00[0-9A-Fa-f]{2})";
  const std::string in_class =
      fmt::format("(?:[^\\\\\\[\\]^\\u0000-\\u001F-]|\\\\-|{}{})", escape, ranges);
  const std::string char_class = fmt::format("\\[\\^?-?{}+-?\\]", in_class);
  const std::string character = "[^\\\\^$.*+?()\\[\\]{}|\\u0000-\\u001F]";
  // Counts: the second of two numbers is the larger one.
  const std::string count =
      "\\{(?:\\d{1,3},?|0,\\d{1,3}|\\d,[1-9]\\d{1,2}|[1-9]\\d,[1-9]\\d\\d|1,[1-9]|2,[2-9]|3,[3-9]"
      "|4,[4-9]|5,[5-9])\\}";
  const std::string quantified = group("[*+?]|" + count) + "\\??";
  std::string pattern;
  for (int depth = 0; depth < 4; ++depth) {
    std::string atom = fmt::format("{}|\\.|{}|{}", character, escape, char_class);
    if (depth > 0) atom += fmt::format("|\\((?:\\?:)?{}\\)", pattern);
    const std::string term = fmt::format("(?:[$^]|(?:{})(?:{})?)", atom, quantified);
    pattern = fmt::format("{0}*(?:\\|{0}*)*", term);
  }
  return pattern;
}

std::string idn_hostname_pattern() {
  return idn_labels(1);
}

std::string idn_email_pattern() {
  // Characters of up to three bytes; together at most 64 bytes before the @.
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u00A1-\\u200A\\u3041-\\uD7A3-]";
  return "(?=[^@]{1,21}@)" + atom + "+" + group("\\." + atom + "+") + "*@" + idn_labels(2);
}

// --- their names ---------------------------------------------------------------------------------

struct Format {
  std::string_view name;
  std::string (*pattern)();
  std::string_view narrower = {};  // the format whose texts are of this one too
};

constexpr Format kFormats[] = {
    {"date", date_pattern},
    {"time", time_pattern},
    {"date-time", date_time_pattern},
    {"duration", duration_pattern},
    {"email", email_pattern},
    {"hostname", hostname_pattern},
    {"ipv4", ipv4_pattern},
    {"ipv6", ipv6_pattern},
    {"uri", uri_pattern},
    {"uuid", uuid_pattern},
    {"uri-reference", uri_reference_pattern},
    {"uri-template", uri_template_pattern},
    {"iri", iri_pattern},
    {"iri-reference", iri_reference_pattern},
    {"json-pointer", json_pointer_pattern},
    {"relative-json-pointer", relative_json_pointer_pattern},
    {"idn-email", idn_email_pattern, "email"},
    {"idn-hostname", idn_hostname_pattern, "hostname"},
    {"regex", regex_pattern},
    {"byte", byte_pattern},
};

struct Made {
  std::once_flag once;
  CharDfa dfa;
};

}  // namespace

const CharDfa* format_dfa(std::string_view name) {
  static std::array<Made, std::size(kFormats)> made;
  for (size_t i = 0; i < std::size(kFormats); ++i) {
    if (kFormats[i].name != name) continue;
    std::call_once(made[i].once, [i] {
      auto dfa = regex_dfa(kFormats[i].pattern(), RegexMeaning::kWhole);
      if (const std::string_view narrower = kFormats[i].narrower; dfa && !narrower.empty())
        dfa = dfa->unite(*format_dfa(narrower));
      ENSURE(dfa.has_value(), "{}: {}", kFormats[i].name, dfa.error().message);
      made[i].dfa = std::move(*dfa);
    });
    return &made[i].dfa;
  }
  return nullptr;
}

std::vector<std::string> known_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats)
    names.emplace_back(format.name);
  return names;
}

}  // namespace windrow::grammar
