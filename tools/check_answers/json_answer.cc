#include "check_answers/json_answer.h"

#include <boost/json/parse.hpp>

namespace windrow::check_answers {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<boost::json::value> json_of(std::string_view answer) {
  constexpr std::string_view kBegin = "<tool_call>";
  constexpr std::string_view kEnd = "</tool_call>";
  std::string_view text = trimmed(answer);
  if (text.starts_with(kBegin) && text.ends_with(kEnd)) {
    text = text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
  }
  boost::system::error_code not_json;
  boost::json::value value = boost::json::parse(text, not_json);
  if (not_json) return std::nullopt;
  return value;
}

}  // namespace windrow::check_answers
