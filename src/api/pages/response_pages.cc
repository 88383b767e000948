#include "api/pages/response_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "api/pages/listing.h"
#include "api/wire/error_reply.h"
#include "llm/field_values.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

constexpr int64_t kItemsMax = 100;
constexpr int64_t kItemsDefault = 20;

std::optional<llm::Failure> bad_limit(int64_t limit) {
  if (limit >= 1 && limit <= kItemsMax) return std::nullopt;
  return llm::bad_value("limit",
                        fmt::format("limit is {}; it must be from 1 to {}", limit, kItemsMax));
}

// Removes everything up to and including the item `after`.
std::optional<llm::Failure> begin_after(const std::string& after, json::array& items) {
  const auto found = std::ranges::find_if(
      items, [&](const json::value& item) { return item.at("id").as_string() == after; });
  if (found == items.end()) {
    return llm::bad_value("after", fmt::format("after is \"{}\", which is no item of this response",
                                               llm::shown(after)));
  }
  items.erase(items.begin(), found + 1);
  return std::nullopt;
}

}  // namespace

http::ServerReply show_response(ResponseStore& store, std::string_view key, std::string_view id,
                                std::string_view query) {
  const Query asked(query);
  if (const auto problem =
          asked.only({"include", "include[]", "include_obfuscation", "stream", "starting_after"}))
    return error_reply(*problem);
  if (asked.text("stream").value_or("false") != "false") {
    return error_reply(
        llm::unsupported("stream", "a response that is kept is sent as a whole; take stream out"));
  }
  auto body = store.body(key, id);
  if (const auto* failure = std::get_if<llm::Failure>(&body)) return error_reply(*failure);
  return {.body = std::move(std::get<std::string>(body))};
}

http::ServerReply delete_response(ResponseStore& store, std::string_view key, std::string_view id) {
  if (!store.erase(key, id)) return error_reply(store.no_response(id));
  return {.body =
              json::serialize(json::object{{"id", id}, {"object", "response"}, {"deleted", true}})};
}

http::ServerReply show_input_items(ResponseStore& store, std::string_view key, std::string_view id,
                                   std::string_view query) {
  const Query asked(query);
  if (const auto problem = asked.only({"after", "limit", "order", "include", "include[]"}))
    return error_reply(*problem);
  int64_t limit = 0;
  if (const auto problem = asked.number("limit", kItemsDefault, limit))
    return error_reply(*problem);
  if (const auto problem = bad_limit(limit)) return error_reply(*problem);
  const std::string order = asked.text("order").value_or("desc");
  if (order != "desc" && order != "asc") {
    return error_reply(llm::bad_value(
        "order",
        fmt::format("order is \"{}\"; it must be \"desc\" or \"asc\"", llm::shown(order))));
  }
  auto found = store.input_items(key, id);
  if (const auto* failure = std::get_if<llm::Failure>(&found)) return error_reply(*failure);
  auto& items = std::get<json::array>(found);
  if (order == "desc") std::reverse(items.begin(), items.end());
  if (const auto after = asked.text("after")) {
    if (const auto problem = begin_after(*after, items)) return error_reply(*problem);
  }
  const bool has_more = items.size() > static_cast<size_t>(limit);
  if (has_more) items.resize(static_cast<size_t>(limit));
  return {.body = json::serialize(list_page(std::move(items), has_more))};
}

}  // namespace windrow::api
