// Formats of texts that other texts are made from: pointers, templates, expressions, base64.
#pragma once

#include <string_view>

namespace windrow::schema {

bool is_json_pointer(std::string_view text);           // RFC 6901, 3
bool is_relative_json_pointer(std::string_view text);  // its draft, with moves of an index
bool is_uri_template(std::string_view text);           // RFC 6570
bool is_base64(std::string_view text);                 // RFC 4648, 4: padded, no line breaks

// ECMA-262 with the `u` flag: whether it is written right, not whether anybody can match it.
bool is_regex(std::string_view text);

}  // namespace windrow::schema
