// Origins: where in the body a client sent each part of its translation stands, so that what is
// wrong is said in the client's own words. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/answer.h"

namespace windrow::api {

class Origins {
 public:
  // `made` of the translation, and what is in it, comes from `sent`.
  void add(std::string made, std::string sent);

  // "messages[2].content" -> "input[1].content". The longest part that is known counts; what is not
  // known stays.
  std::string of(std::string_view made) const;

  // Its param, and where its message names that or what that is in. What a server elsewhere said
  // goes as our message, not as its own body.
  llm::Failure to_client(llm::Failure failure) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace windrow::api
