// A page of a list, as OpenAI's lists have it. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <utility>

namespace windrow::api {

// {"object": "list", "data", "first_id", "last_id", "has_more"}; each element has an id.
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
