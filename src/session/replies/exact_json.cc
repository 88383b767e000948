#include "session/replies/exact_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "json/limits.h"

namespace windrow::session {

namespace {

// What the library's parser does with the parts of a text, but for on_double.
struct ExactHandler {
  using Code = boost::json::error_code;
  using View = boost::json::string_view;

  static constexpr std::size_t max_object_size = boost::json::object::max_size();
  static constexpr std::size_t max_array_size = boost::json::array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();

  boost::json::value_stack stack;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_number_part(View, Code&) { return true; }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

  bool on_object_end(std::size_t count, Code&) {
    stack.push_object(count);
    return true;
  }
  bool on_array_end(std::size_t count, Code&) {
    stack.push_array(count);
    return true;
  }
  bool on_key_part(View text, std::size_t, Code&) {
    stack.push_chars(text);
    return true;
  }
  bool on_key(View text, std::size_t, Code&) {
    stack.push_key(text);
    return true;
  }
  bool on_string_part(View text, std::size_t, Code&) {
    stack.push_chars(text);
    return true;
  }
  bool on_string(View text, std::size_t, Code&) {
    stack.push_string(text);
    return true;
  }
  bool on_int64(std::int64_t number, View, Code&) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, View, Code&) {
    stack.push_uint64(number);
    return true;
  }
  // `written`: the whole number, because the parser gets the text in one piece. Where it is beyond
  // doubles, from_chars leaves the parser's infinity or 0.
  bool on_double(double number, View written, Code&) {
    std::from_chars(written.data(), written.data() + written.size(), number);
    stack.push_double(number);
    return true;
  }
  bool on_bool(bool flag, Code&) {
    stack.push_bool(flag);
    return true;
  }
  bool on_null(Code&) {
    stack.push_null();
    return true;
  }
};

}  // namespace

std::variant<boost::json::value, std::string> parse_exact_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::basic_parser<ExactHandler> parser(options);
  parser.handler().stack.reset();
  boost::json::error_code error;
  size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = boost::json::error::extra_data;
  if (!error) return parser.handler().stack.release();
  return fmt::format("{} at byte {}", error.message(), read + 1);
}

}  // namespace windrow::session
