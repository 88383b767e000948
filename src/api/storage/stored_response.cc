#include "api/storage/stored_response.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>

namespace windrow::api {

namespace json = boost::json;

namespace {

std::string_view prefix_of(const json::object& item) {
  const json::value& type = item.at("type");
  if (type == "function_call") return "fc";
  if (type == "function_call_output") return "fco";
  return type == "reasoning" ? "rs" : "msg";
}

}  // namespace

StoredItems stored_items(std::string_view response_id, json::array items) {
  const std::string_view chance = response_id.substr(response_id.find('_') + 1);
  StoredItems stored;
  stored.ids.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    json::value& id = items[i].as_object()["id"];
    if (!id.is_string() || id.get_string().empty())
      id = fmt::format("{}_{}in{}", prefix_of(items[i].get_object()), chance, i);
    stored.ids.emplace_back(id.get_string());
  }
  stored.text = json::serialize(items);
  return stored;
}

}  // namespace windrow::api
