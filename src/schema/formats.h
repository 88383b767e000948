// The values of the keyword `format` that are judged, each strictly by its standard. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "schema/decimal.h"

namespace windrow::schema {

enum class Format : uint8_t {
  kDate,      // RFC 3339 full-date, with the lengths of months
  kTime,      // RFC 3339 full-time; second 60 only where it is 23:59:60 in UTC
  kDateTime,  // RFC 3339
  kDuration,  // RFC 3339, appendix A
  kEmail,     // RFC 5321, Mailbox
  kHostname,  // RFC 1123
  kIpv4,      // RFC 2673, dotted quad without zeros in front
  kIpv6,      // RFC 4291, no zone
  kUri,       // RFC 3986, with a scheme
  kUuid,      // RFC 4122
  kUriReference,
  kIri,  // RFC 3987
  kIriReference,
  kUriTemplate,          // RFC 6570
  kJsonPointer,          // RFC 6901
  kRelativeJsonPointer,  // with moves of an index
  kRegex,                // ECMA-262, with the `u` flag
  kByte,                 // OpenAPI's: base64 as RFC 4648 has it
  // RFC 6531 and RFC 5890 without Unicode's tables: all valid texts are accepted, and some invalid
  // ones.
  kIdnEmail,
  kIdnHostname,
};

// The minimum and maximum of OpenAPI's formats of integers: int8 to int64, uint8 to uint64. Nothing
// for other names.
std::optional<std::pair<Decimal, Decimal>> integer_range(std::string_view name);

std::optional<Format> format_of(std::string_view name);
std::string_view to_string(Format format);

bool conforms(Format format, std::string_view text);

}  // namespace windrow::schema
