// Text to JSON values, with a bound on the depth and an error that says where.
#pragma once

#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "json/limits.h"

namespace windrow {

// Why a text is not one JSON value.
struct JsonFault {
  enum class Kind : uint8_t {
    kSyntax,
    kTooDeep,  // nested more than kJsonDepthMax deep
    kNotUtf8,
  };
  Kind kind = Kind::kSyntax;
  size_t byte = 0;     // the first one that does not fit, from 1
  std::string reason;  // the parser's own words
};

// Parses a text that comes from outside into memory of `memory`. Any thread.
std::variant<boost::json::value, JsonFault> parse_json(std::string_view text,
                                                       boost::json::storage_ptr memory = {});

// Parses a text that Windrow wrote itself. Another one is a defect, and throws.
boost::json::value parse_written_json(std::string_view text);

// JsonLineParser: parses the lines of a log one after the other, in memory that is used again for
// each. Used by one thread.
class JsonLineParser {
 public:
  JsonLineParser() = default;
  JsonLineParser(const JsonLineParser&) = delete;
  JsonLineParser& operator=(const JsonLineParser&) = delete;

  // The value, valid until the next call; null where the text is not one JSON value, or is nested
  // deeper than `depth_max`.
  const boost::json::value* parse(std::string_view text, size_t depth_max = kWrittenJsonDepthMax);

  // Whether the text parsed last was nested too deep.
  bool too_deep() const { return too_deep_; }

  // The value parsed last; null where there was none.
  const boost::json::value* value() const { return value_ ? &*value_ : nullptr; }

 private:
  std::array<unsigned char, size_t{1} << 14> buffer_ = {};
  std::optional<boost::json::monotonic_resource> memory_;
  std::optional<boost::json::value> value_;
  bool too_deep_ = false;
};

}  // namespace windrow
