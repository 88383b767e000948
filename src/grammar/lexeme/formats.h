// The formats of JSON Schema that are enforced, each a regular set of texts. Thread-safe: each is
// made once, on first use.
//
// Each allows a part of what its standard allows, on which validators agree:
// - date, time, date-time: RFC 3339 with the days of months and leap years, years from 0001,
//   `T` and `Z` in capitals, up to 9 digits of a second's fraction; the second 60 only as
//   23:59:60Z.
// - duration: RFC 3339, appendix A; numbers of up to 9 digits.
// - email: dot-atoms of RFC 5321 up to 64 characters, at a domain of two labels or more.
// - hostname: RFC 1123, no label with `--` in third place (those are reserved: xn--...), up to 253
//   characters: 3 labels of 63, 8 of 30 or 31 of 7.
// - ipv4, ipv6: RFC 3986, with `::` and an ipv4 at the end, no zones.
// - uri, uri-reference: RFC 3986 in ASCII; a scheme has something behind it.
// - iri, iri-reference: RFC 3987, without characters that change the direction of writing.
// - uri-template: RFC 6570, with names of letters, digits and `_`.
// - json-pointer, relative-json-pointer: RFC 6901; numbers of up to 9 digits.
// - idn-hostname, idn-email: hostname and email; and labels of up to 11 small letters, kana, Han
//   and Hangul, at most three labels, and mailboxes of up to 21 characters.
// - regex: ECMA-262, groups within groups up to three deep, without look-around and references.
// - byte: OpenAPI's, base64 as RFC 4648 has it.
// - uuid: RFC 4122, in small or capital letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/lexeme/char_dfa.h"

namespace windrow::grammar {

// The texts of a format. Null if the name is unknown.
const CharDfa* format_dfa(std::string_view name);

// Texts among which are all that are of the format by its standard, whether or not all validators
// agree: what is outside is not of the format. Null if nothing narrower than any text is known
// (regex), or the name is unknown.
const CharDfa* widest_format_dfa(std::string_view name);

std::vector<std::string> known_formats();

}  // namespace windrow::grammar
