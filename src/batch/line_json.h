// LineJson: a line of a log as JSON, in memory that is used again for each line.
#pragma once

#include <array>
#include <boost/json/error.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_depth.h"

namespace windrow::batch {

// Used by one thread.
class LineJson {
 public:
  LineJson() = default;
  LineJson(const LineJson&) = delete;
  LineJson& operator=(const LineJson&) = delete;

  // Null where it is none, or nested deeper than `depth_max`. What was returned before goes.
  const boost::json::value* parse(std::string_view text, size_t depth_max = kWrittenJsonDepthMax) {
    value_.reset();
    // Not released: after that Boost's resource doubles its blocks for ever.
    memory_.emplace(buffer_.data(), buffer_.size());
    boost::system::error_code error;
    boost::json::value value = boost::json::parse(text, error, &*memory_, {.max_depth = depth_max});
    too_deep_ = error == boost::json::error::too_deep;
    if (error) return nullptr;
    value_.emplace(std::move(value));
    return &*value_;
  }

  // What was parsed last was nested too deep.
  bool too_deep() const { return too_deep_; }

  // What was parsed last; null where it was none.
  const boost::json::value* value() const { return value_ ? &*value_ : nullptr; }

 private:
  std::array<unsigned char, size_t{1} << 14> buffer_ = {};
  std::optional<boost::json::monotonic_resource> memory_;
  std::optional<boost::json::value> value_;
  bool too_deep_ = false;
};

}  // namespace windrow::batch
