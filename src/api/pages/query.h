// What stands behind the question mark of a path. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/answer.h"

namespace windrow::api {

class Query {
 public:
  // "after=file-1&limit=20" -> names and values, as they were meant: "%2F" is "/", "+" a space.
  explicit Query(std::string_view text);

  // The first of this name; nothing: there is none, or it is empty.
  std::optional<std::string> text(std::string_view name) const;

  // 400: there is one that is none of these.
  std::optional<llm::Failure> only(std::initializer_list<std::string_view> names) const;

  // Its number, or `otherwise`; a failure: it is none.
  std::optional<llm::Failure> number(std::string_view name, int64_t otherwise,
                                     int64_t& value) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace windrow::api
