// Reading values of a request body, with error messages that name the field, its value and what
// would be accepted. Every read_* function returns the problem, or nothing and has set `target`.
// Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::llm {

using Problem = std::optional<Failure>;

constexpr int32_t kIntegerMax = std::numeric_limits<int32_t>::max();

Failure bad_value(std::string_view param, std::string message);
Failure unsupported(std::string_view param, std::string message);
Failure missing_parameter(std::string_view param, std::string message);

// "`param` must be `wanted`, not a string".
Failure wrong_kind(std::string_view param, std::string_view wanted, const boost::json::value& got);

// A text of the client for a message, shortened if it is long.
std::string shown(std::string_view text);

// Bounds are included.
Problem read_float(const boost::json::value& value, std::string_view param, double min, double max,
                   float& target);
Problem read_integer(const boost::json::value& value, std::string_view param, int64_t min,
                     int64_t max, int64_t& target);
Problem read_int32(const boost::json::value& value, std::string_view param, int32_t min,
                   int32_t max, int32_t& target);

// Any whole number of 64 bits, signed or unsigned; -1 and 2^64 - 1 are the same.
Problem read_bits64(const boost::json::value& value, std::string_view param, uint64_t& target);

Problem read_bool(const boost::json::value& value, std::string_view param, bool& target);
Problem read_string(const boost::json::value& value, std::string_view param, std::string& target);
Problem read_filled_string(const boost::json::value& value, std::string_view param,
                           std::string& target);

}  // namespace windrow::llm
