// Times as clients and models write them: ISO 8601. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::memory {

// Milliseconds since 1970 in UTC -> "2024-01-15T10:30:00+00:00", with ".250000" if there are
// milliseconds. Years 0 to 9999; a time outside is written as the nearest one inside.
std::string to_iso(int64_t unix_ms);

// "2024-01-15", "2024-01-15T10:30:00.25Z", "2024-01-15 10:30+02:00"; without an offset it is UTC.
// Nothing: it is none of these, or no such day or time exists.
std::optional<int64_t> unix_ms_from_iso(std::string_view iso);

}  // namespace windrow::memory
