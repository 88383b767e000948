#include "schema/formats.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "schema/format_readers.h"

namespace windrow::schema {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 20> kFormats = {{
    {"date", Format::kDate},
    {"time", Format::kTime},
    {"date-time", Format::kDateTime},
    {"duration", Format::kDuration},
    {"email", Format::kEmail},
    {"hostname", Format::kHostname},
    {"ipv4", Format::kIpv4},
    {"ipv6", Format::kIpv6},
    {"uri", Format::kUri},
    {"uuid", Format::kUuid},
    {"uri-reference", Format::kUriReference},
    {"iri", Format::kIri},
    {"iri-reference", Format::kIriReference},
    {"uri-template", Format::kUriTemplate},
    {"json-pointer", Format::kJsonPointer},
    {"relative-json-pointer", Format::kRelativeJsonPointer},
    {"regex", Format::kRegex},
    {"byte", Format::kByte},
    {"idn-email", Format::kIdnEmail},
    {"idn-hostname", Format::kIdnHostname},
}};

// --- dates and times --------------------------------------------------------------------------

int days_of(int year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

bool scan_date(TextScanner& text) {
  const std::optional<int> year = text.digits(4);
  if (!year || !text.take('-')) return false;
  const std::optional<int> month = text.digits(2);
  if (!month || *month < 1 || *month > 12 || !text.take('-')) return false;
  const std::optional<int> day = text.digits(2);
  return day && *day >= 1 && *day <= days_of(*year, *month);
}

// Minutes east of UTC.
std::optional<int> scan_offset(TextScanner& text) {
  if (text.take('Z') || text.take('z')) return 0;
  const bool east = text.take('+');
  if (!east && !text.take('-')) return std::nullopt;
  const std::optional<int> hour = text.digits(2);
  if (!hour || *hour > 23 || !text.take(':')) return std::nullopt;
  const std::optional<int> minute = text.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  const int minutes = *hour * 60 + *minute;
  return east ? minutes : -minutes;
}

bool scan_time(TextScanner& text) {
  const std::optional<int> hour = text.digits(2);
  if (!hour || *hour > 23 || !text.take(':')) return false;
  const std::optional<int> minute = text.digits(2);
  if (!minute || *minute > 59 || !text.take(':')) return false;
  const std::optional<int> second = text.digits(2);
  if (!second || *second > 60) return false;
  if (text.take('.') && text.skip(is_digit) == 0) return false;
  const std::optional<int> offset = scan_offset(text);
  if (!offset) return false;
  // Seconds leap at the end of a day in UTC.
  constexpr int kDay = 24 * 60;
  const int in_utc = (*hour * 60 + *minute - *offset + kDay) % kDay;
  return *second < 60 || in_utc == kDay - 1;
}

bool is_date(std::string_view all) {
  TextScanner text(all);
  return scan_date(text) && text.at_end();
}

bool is_time(std::string_view all) {
  TextScanner text(all);
  return scan_time(text) && text.at_end();
}

bool is_date_time(std::string_view all) {
  TextScanner text(all);
  if (!scan_date(text) || (!text.take('T') && !text.take('t'))) return false;
  return scan_time(text) && text.at_end();
}

// Numbers with these units, each once, in this order, and none left out between two.
bool scan_units(TextScanner& text, std::string_view units) {
  bool begun = false;
  for (const char unit : units) {
    TextScanner ahead = text;
    if (ahead.skip(is_digit) > 0 && ahead.take(unit)) {
      text = ahead;
      begun = true;
    } else if (begun) {
      break;
    }
  }
  return begun;
}

bool is_duration(std::string_view all) {
  TextScanner text(all);
  if (!text.take('P')) return false;
  if (scan_units(text, "W")) return text.at_end();
  const bool days = scan_units(text, "YMD");
  if (text.at_end()) return days;
  return text.take('T') && scan_units(text, "HMS") && text.at_end();
}

// --- names and addresses ----------------------------------------------------------------------

bool is_not_ascii_byte(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

// `international`: with characters beyond ASCII, each of which takes one or more of the 63 that a
// label may have when it is written in Punycode.
bool is_hostname(std::string_view text, bool international = false) {
  constexpr size_t kLengthMax = 253;
  constexpr size_t kLabelMax = 63;
  if (text.empty() || count_code_points(text) > kLengthMax) return false;
  while (true) {
    const size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    if (label.empty() || count_code_points(label) > kLabelMax) return false;
    if (label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) {
          return is_alnum(c) || c == '-' || (international && is_not_ascii_byte(c));
        }))
      return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool scan_quoted_local_part(TextScanner& text) {
  if (!text.take('"')) return false;
  while (!text.take('"')) {
    text.take('\\');
    if (text.skip_one([](char c) { return c >= ' ' && c <= '~'; }) == 0) return false;
  }
  return true;
}

bool is_atext(char c) {
  return is_alnum(c) || std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
}

bool scan_local_part(TextScanner& text, bool international) {
  if (text.peek() == '"') return scan_quoted_local_part(text);
  do {
    if (text.skip([&](char c) { return is_atext(c) || (international && is_not_ascii_byte(c)); }) ==
        0)
      return false;
  } while (text.take('.'));
  return true;
}

bool is_email(std::string_view all, bool international = false) {
  constexpr size_t kLocalPartMax = 64;
  TextScanner text(all);
  if (!scan_local_part(text, international)) return false;
  if (all.size() - text.rest().size() > kLocalPartMax || !text.take('@')) return false;
  std::string_view domain = text.rest();
  if (!domain.starts_with('[')) return is_hostname(domain, international);
  if (!domain.ends_with(']')) return false;
  domain = domain.substr(1, domain.size() - 2);
  constexpr std::string_view kIpv6 = "IPv6:";
  if (!domain.starts_with(kIpv6)) return conforms(Format::kIpv4, domain);
  return conforms(Format::kIpv6, domain.substr(kIpv6.size()));
}

bool is_uuid(std::string_view all) {
  TextScanner text(all);
  for (const size_t group : {8U, 4U, 4U, 4U, 12U}) {
    if (group != 8 && !text.take('-')) return false;
    if (text.skip(is_hex) != group) return false;
  }
  return text.at_end();
}

}  // namespace

std::optional<std::pair<Decimal, Decimal>> integer_range(std::string_view name) {
  const bool is_signed = !name.starts_with('u');
  if (!is_signed) name.remove_prefix(1);
  if (!name.starts_with("int")) return std::nullopt;
  name.remove_prefix(3);
  for (const unsigned bits : {8U, 16U, 32U, 64U}) {
    if (name != std::to_string(bits)) continue;
    const uint64_t all = ~uint64_t{0} >> (64U - bits);
    const uint64_t most = is_signed ? all / 2 : all;
    const std::string least = is_signed ? "-" + std::to_string(most + 1) : "0";
    return std::pair(Decimal::from_text(least), Decimal::from_text(std::to_string(most)));
  }
  return std::nullopt;
}

std::optional<Format> format_of(std::string_view name) {
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return std::nullopt;
}

std::string_view to_string(Format format) {
  for (const auto& [name, known] : kFormats) {
    if (known == format) return name;
  }
  return "";
}

bool conforms(Format format, std::string_view text) {
  switch (format) {
    case Format::kDate:
      return is_date(text);
    case Format::kTime:
      return is_time(text);
    case Format::kDateTime:
      return is_date_time(text);
    case Format::kDuration:
      return is_duration(text);
    case Format::kEmail:
      return is_email(text);
    case Format::kHostname:
      return is_hostname(text);
    case Format::kIpv4:
      return is_ipv4(text);
    case Format::kIpv6:
      return is_ipv6(text);
    case Format::kUri:
      return is_uri(text);
    case Format::kUuid:
      return is_uuid(text);
    case Format::kUriReference:
      return is_uri_reference(text);
    case Format::kIri:
      return is_iri(text);
    case Format::kIriReference:
      return is_iri_reference(text);
    case Format::kUriTemplate:
      return is_uri_template(text);
    case Format::kJsonPointer:
      return is_json_pointer(text);
    case Format::kRelativeJsonPointer:
      return is_relative_json_pointer(text);
    case Format::kRegex:
      return is_regex(text);
    case Format::kByte:
      return is_base64(text);
    case Format::kIdnEmail:
      return is_email(text, true);
    case Format::kIdnHostname:
      return is_hostname(text, true);
  }
  return false;
}

}  // namespace windrow::schema
