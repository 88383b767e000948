// References between URIs (RFC 3986, section 5), as far as $id and $ref need them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace windrow::schema {

// What `reference` means in a document at `base`, without its fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Behind "#"; empty where there is none.
std::string_view fragment_of(std::string_view reference);

// "%41" becomes "A". Nothing where a "%" has no two hexadecimal digits behind it.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace windrow::schema
