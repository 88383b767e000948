// The formats of JSON Schema that are enforced, each a regular set of texts: date, time, date-time
// (RFC 3339, with the days of months and leap years), email, uuid, ipv4, ipv6, uri, hostname,
// duration. Made once and shared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

// Null where the name is none of them.
const CharDfa* format_dfa(std::string_view name);

std::vector<std::string> known_formats();

}  // namespace windrow::grammar
