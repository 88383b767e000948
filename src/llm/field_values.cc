#include "llm/field_values.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "base/utf8.h"
#include "json/values.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr size_t kShownBytesMax = 80;

Failure failure(std::string code, std::string_view param, std::string message) {
  return Failure{.failure_class = FailureClass::kRequest,
                 .status = 400,
                 .code = std::move(code),
                 .message = std::move(message),
                 .param = std::string(param)};
}

std::string number_text(const json::value& value) {
  if (const int64_t* number = value.if_int64()) return fmt::format("{}", *number);
  if (const uint64_t* number = value.if_uint64()) return fmt::format("{}", *number);
  return fmt::format("{}", value.get_double());
}

template <class Max>
Failure no_whole_number(const json::value& value, std::string_view param, int64_t min, Max max) {
  return bad_value(param,
                   fmt::format("{} must be a whole number from {} to {}, not {}", param, min, max,
                               value.is_number() ? number_text(value) : kind_name(value)));
}

template <class Number>
Failure out_of_range(std::string_view param, Number number, Number min, Number max) {
  return bad_value(param,
                   fmt::format("{} is {}; it must be from {} to {}", param, number, min, max));
}

}  // namespace

Failure bad_value(std::string_view param, std::string message) {
  return failure("invalid_value", param, std::move(message));
}

Failure unsupported(std::string_view param, std::string message) {
  return failure("unsupported_parameter", param, std::move(message));
}

Failure missing_parameter(std::string_view param, std::string message) {
  return failure("missing_required_parameter", param, std::move(message));
}

Failure wrong_kind(std::string_view param, std::string_view wanted, const json::value& got) {
  return bad_value(param, fmt::format("{} must be {}, not {}", param, wanted, kind_name(got)));
}

std::string shown(std::string_view text) {
  if (text.size() <= kShownBytesMax) return std::string(text);
  const std::string_view start = text.substr(0, kShownBytesMax);
  return fmt::format("{}...", start.substr(0, start.size() - utf8_incomplete_tail(start)));
}

Problem read_float(const json::value& value, std::string_view param, double min, double max,
                   float& target) {
  boost::system::error_code error;
  const double number = value.is_number() ? value.to_number<double>(error) : 0;
  if (!value.is_number() || error) {
    return wrong_kind(param, fmt::format("a number from {} to {}", min, max), value);
  }
  if (!(number >= min && number <= max)) return out_of_range(param, number, min, max);
  target = static_cast<float>(number);
  return std::nullopt;
}

Problem read_integer(const json::value& value, std::string_view param, int64_t min, int64_t max,
                     int64_t& target) {
  boost::system::error_code error;
  const int64_t number = value.is_number() ? value.to_number<int64_t>(error) : 0;
  if (!value.is_number() || error) return no_whole_number(value, param, min, max);
  if (number < min || number > max) return out_of_range(param, number, min, max);
  target = number;
  return std::nullopt;
}

Problem read_bits64(const json::value& value, std::string_view param, uint64_t& target) {
  boost::system::error_code error;
  if (value.is_number()) {
    target = static_cast<uint64_t>(value.to_number<int64_t>(error));
    if (!error) return std::nullopt;
    target = value.to_number<uint64_t>(error);
    if (!error) return std::nullopt;
  }
  return no_whole_number(value, param, std::numeric_limits<int64_t>::min(),
                         std::numeric_limits<uint64_t>::max());
}

Problem read_int32(const json::value& value, std::string_view param, int32_t min, int32_t max,
                   int32_t& target) {
  int64_t number = 0;
  if (Problem problem = read_integer(value, param, min, max, number)) return problem;
  target = static_cast<int32_t>(number);
  return std::nullopt;
}

Problem read_bool(const json::value& value, std::string_view param, bool& target) {
  const bool* given = value.if_bool();
  if (given == nullptr) return wrong_kind(param, "true or false", value);
  target = *given;
  return std::nullopt;
}

Problem read_string(const json::value& value, std::string_view param, std::string& target) {
  const json::string* given = value.if_string();
  if (given == nullptr) return wrong_kind(param, "a string", value);
  target = *given;
  return std::nullopt;
}

Problem read_filled_string(const json::value& value, std::string_view param, std::string& target) {
  const json::string* given = value.if_string();
  if (given == nullptr || given->empty()) {
    return wrong_kind(param, "a string that is not empty", value);
  }
  target = *given;
  return std::nullopt;
}

}  // namespace windrow::llm
