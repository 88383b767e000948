#include "check_answers/key_line.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

namespace windrow::check_answers {

namespace json = boost::json;

Result<KeyLine> read_key_line(std::string_view line) {
  boost::system::error_code not_json;
  const json::value value = json::parse(line, not_json);
  if (not_json || !value.is_object()) {
    return Error{ErrorKind::kInvalid, "this line is no JSON object"};
  }
  KeyLine key;
  for (const auto& [name, target] :
       {std::pair{"custom_id", &key.custom_id}, {"task", &key.task}, {"answer", &key.answer}}) {
    const json::value* member = value.get_object().if_contains(name);
    if (member == nullptr || !member->is_string()) {
      return Error{ErrorKind::kInvalid, fmt::format("this line has no text \"{}\"", name)};
    }
    *target = member->get_string();
  }
  return key;
}

}  // namespace windrow::check_answers
