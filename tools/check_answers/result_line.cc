#include "check_answers/result_line.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::check_answers {

namespace json = boost::json;

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
  const json::value* content =
      value.find_pointer("/response/body/choices/0/message/content", absent);
  if (content != nullptr && content->is_string()) result.answer = content->get_string();
  return result;
}

}  // namespace windrow::check_answers
