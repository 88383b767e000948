// The memory that a JSON text takes once it is parsed, estimated before it is: a body of a few
// megabytes may hold millions of values, each many times as large as its text. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace windrow {

// The values that a body may have at most, names of members included: 2,000 texts of 900 token ids
// each fit.
constexpr size_t kJsonValuesMax = 2'000'000;

// An upper bound of the values in `body`, names of members included. Any number for a text that is
// not JSON.
size_t count_json_values(std::string_view body);

// An upper bound of the bytes that parsing takes beside the text itself.
size_t json_weight(size_t values, size_t body_bytes);

}  // namespace windrow
