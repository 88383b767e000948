// What list endpoints share: the query parameters of a request and the JSON of one page. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
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
  // "after=file-1&limit=20" -> decoded names and values: "%2F" is "/", "+" a space.
  explicit Query(std::string_view text);

  // The first value of this name; nullopt if it is absent or empty.
  std::optional<std::string> text(std::string_view name) const;

  // All values of this name, in their order: "tags=a&tags=b".
  std::vector<std::string> texts(std::string_view name) const;

  // 400 if there is a parameter with another name.
  std::optional<llm::Failure> only(std::initializer_list<std::string_view> names) const;

  // Reads a number, or `otherwise` if the parameter is absent. 400 if it is no number.
  std::optional<llm::Failure> number(std::string_view name, int64_t otherwise,
                                     int64_t& value) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// {"object": "list", "data", "first_id", "last_id", "has_more"}, as OpenAI's lists. Each element of
// `data` has an id.
inline boost::json::object list_page(boost::json::array data, bool has_more) {
  boost::json::value first = nullptr;
  boost::json::value last = nullptr;
  if (!data.empty()) {
    first = data.front().at("id");
    last = data.back().at("id");
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"first_id", std::move(first)},
          {"last_id", std::move(last)},
          {"has_more", has_more}};
}

}  // namespace windrow::api
