#include "memory/retain/retain_payload.h"

#include <boost/json/array.hpp>
#include <boost/json/value_to.hpp>
#include <exception>
#include <string>
#include <utility>

namespace windrow::memory {
namespace {

namespace json = boost::json;

json::array array_of(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts)
    array.emplace_back(text);
  return array;
}

json::object object_of(const RetainItem& item) {
  json::object object{{"content", item.content},
                      {"context", item.context},
                      {"timestamp_unset", item.timestamp_unset},
                      {"document_id", item.document_id},
                      {"entities", array_of(item.entities)},
                      {"tags", array_of(item.tags.list())},
                      {"observation_scopes", to_text(item.scopes)},
                      {"append", item.update == DocumentUpdate::kAppend}};
  if (item.timestamp) object["timestamp"] = *item.timestamp;
  if (item.type) object["type"] = to_string(*item.type);
  json::object metadata;
  for (const auto& [name, value] : item.metadata)
    metadata[name] = value;
  object["metadata"] = std::move(metadata);
  return object;
}

Result<RetainItem> item_from(const json::object& object) {
  RetainItem item;
  item.content = json::value_to<std::string>(object.at("content"));
  item.context = json::value_to<std::string>(object.at("context"));
  item.timestamp_unset = object.at("timestamp_unset").as_bool();
  item.document_id = json::value_to<std::string>(object.at("document_id"));
  item.entities = json::value_to<std::vector<std::string>>(object.at("entities"));
  item.tags = Tags(json::value_to<std::vector<std::string>>(object.at("tags")));
  Result<ObservationScopes> scopes =
      observation_scopes_from_text(object.at("observation_scopes").as_string());
  if (!scopes) return scopes.error();
  item.scopes = *std::move(scopes);
  item.update = object.at("append").as_bool() ? DocumentUpdate::kAppend : DocumentUpdate::kReplace;
  if (const auto* timestamp = object.if_contains("timestamp"))
    item.timestamp = timestamp->as_int64();
  if (const auto* type = object.if_contains("type"))
    item.type = memory_type_named(type->as_string());
  for (const auto& [name, value] : object.at("metadata").as_object())
    item.metadata[name] = json::value_to<std::string>(value);
  return item;
}

}  // namespace

json::object payload_of(const std::vector<RetainItem>& items) {
  json::array list;
  for (const RetainItem& item : items)
    list.push_back(object_of(item));
  return {{"items", std::move(list)}};
}

Result<std::vector<RetainItem>> retain_items_from(const json::object& payload) {
  // Boost.JSON throws where a member is missing or of another kind.
  try {
    std::vector<RetainItem> items;
    for (const json::value& value : payload.at("items").as_array()) {
      Result<RetainItem> item = item_from(value.as_object());
      if (!item) return item.error();
      items.push_back(*std::move(item));
    }
    return items;
  } catch (const std::exception& error) {
    return Error{ErrorKind::kInvalid,
                 std::string("the items of the operation cannot be read: ") + error.what()};
  }
}

}  // namespace windrow::memory
