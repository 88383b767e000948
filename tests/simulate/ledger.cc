#include "simulate/ledger.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace windrow::simulate {

namespace json = boost::json;

// The last word counts: the beginning that several prompts share may have words, too.
std::string word_in_request(const std::string& body) {
  const size_t begin = body.rfind("word-");
  if (begin == std::string::npos) return {};
  return body.substr(begin, body.find_first_not_of("0123456789", begin + 5) - begin);
}

std::string answer_in(const std::string& body) {
  boost::system::error_code error;
  const json::value reply = json::parse(body, error);
  if (error) return {};
  for (const char* place : {"/choices/0/text", "/choices/0/message/content"}) {
    const json::value* text = reply.find_pointer(place, error);
    if (text != nullptr && text->is_string()) return std::string(text->get_string());
  }
  return {};
}

std::string word_in_answer(const std::string& body) {
  return word_in_request(answer_in(body));
}

}  // namespace windrow::simulate
