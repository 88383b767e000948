#include "check_answers/result_line.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

namespace windrow::check_answers {

namespace json = boost::json;

namespace {

// {"name": ..., "arguments": {...}}, as models write calls; nothing where this is none.
std::optional<std::string> text_of_call(const json::value& message) {
  boost::system::error_code absent;
  const json::value* function = message.find_pointer("/tool_calls/0/function", absent);
  if (function == nullptr || !function->is_object()) return std::nullopt;
  const json::value* name = function->get_object().if_contains("name");
  const json::value* arguments = function->get_object().if_contains("arguments");
  if (name == nullptr || arguments == nullptr || !arguments->is_string()) return std::nullopt;
  return "{\"name\": " + json::serialize(*name) +
         ", \"arguments\": " + std::string(arguments->get_string()) + "}";
}

}  // namespace

Result<ResultLine> read_result_line(std::string_view line) {
  boost::system::error_code not_json;
  const json::value value = json::parse(line, not_json);
  if (not_json || !value.is_object()) {
    return Error{ErrorKind::kInvalid, "this line is no JSON object"};
  }
  const json::object& object = value.get_object();
  const json::value* custom_id = object.if_contains("custom_id");
  if (custom_id == nullptr || !object.contains("response")) {
    return Error{ErrorKind::kInvalid, "this line is no line of a result file"};
  }
  ResultLine result;
  if (const json::string* id = custom_id->if_string()) result.custom_id = *id;
  boost::system::error_code absent;
  const json::value* message = value.find_pointer("/response/body/choices/0/message", absent);
  if (message == nullptr || !message->is_object()) return result;
  const json::value* content = message->get_object().if_contains("content");
  if (content != nullptr && content->is_string()) {
    result.answer = content->get_string();
  } else {
    result.answer = text_of_call(*message);
  }
  return result;
}

}  // namespace windrow::check_answers
