#include "json/parse.h"

#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parser.hpp>
#include <utility>

#include "base/utf8.h"

namespace windrow {

std::variant<boost::json::value, JsonFault> parse_json(std::string_view text,
                                                       boost::json::storage_ptr memory) {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  std::array<unsigned char, 4096> stack;
  boost::json::parser parser(std::move(memory), options, stack.data(), stack.size());
  boost::system::error_code error;
  const size_t read = parser.write(text.data(), text.size(), error);
  if (!error) return parser.release();
  JsonFault fault{.byte = read + 1, .reason = error.message()};
  if (error == boost::json::error::too_deep) {
    fault.kind = JsonFault::Kind::kTooDeep;
  } else if (utf8_repair(text) != text) {
    fault.kind = JsonFault::Kind::kNotUtf8;
  }
  return fault;
}

boost::json::value parse_written_json(std::string_view text) {
  return boost::json::parse(text, {}, {.max_depth = kWrittenJsonDepthMax});
}

const boost::json::value* JsonLineParser::parse(std::string_view text, size_t depth_max) {
  value_.reset();
  // A new resource, not a released one: after a release Boost's doubles its blocks for ever.
  memory_.emplace(buffer_.data(), buffer_.size());
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error, &*memory_, {.max_depth = depth_max});
  too_deep_ = error == boost::json::error::too_deep;
  if (error) return nullptr;
  value_.emplace(std::move(value));
  return &*value_;
}

}  // namespace windrow
