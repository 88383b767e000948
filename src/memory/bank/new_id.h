// New ids: random UUIDs (RFC 9562, version 4). Any thread.
#pragma once

#include <string>
#include <string_view>

namespace windrow::memory {

std::string new_uuid();

// Whether this is a UUID in small letters or capitals, with its hyphens.
bool is_uuid(std::string_view text);

}  // namespace windrow::memory
