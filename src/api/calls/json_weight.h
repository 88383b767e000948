// What a body takes in memory once it is parsed, told before it is: a body of a few megabytes may
// be millions of values, each many times as large as its text. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace windrow::api {

// No body may have more, names of members included: 2,000 texts as 900 token ids each fit.
constexpr size_t kJsonValuesMax = 2'000'000;

// How many values there are in `body` and names of members, or more; of what is no JSON any number.
size_t count_json_values(std::string_view body);

// At most so many bytes while it is parsed, beside the text itself.
size_t json_weight(size_t values, size_t body_bytes);

}  // namespace windrow::api
