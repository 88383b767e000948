#include "memory/consolidation/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "json/parse.h"
#include "json/values.h"

namespace windrow::memory {
namespace {

namespace json = boost::json;

constexpr std::string_view kWhatToDo =
    "; the answer has to be one JSON object with the lists creates, updates and deletes";

Error unusable_response(std::string what) {
  return {.kind = ErrorKind::kInvalid, .message = std::move(what.append(kWhatToDo))};
}

// Reads the items of one response.
class ActionReader {
 public:
  ModelActions take() { return std::move(actions_); }

  Result<void> read(const json::object& response) {
    constexpr std::array<std::string_view, 3> kLists = {"creates", "updates", "deletes"};
    if (std::ranges::none_of(kLists, [&](auto name) { return response.contains(name); })) {
      return unusable_response("the response has none of the lists of actions");
    }
    for (const std::string_view name : kLists) {
      const json::value* const list = response.if_contains(name);
      if (list == nullptr || list->is_null()) continue;
      if (!list->is_array()) {
        return unusable_response(fmt::format("{} of the response is {}", name, kind_name(*list)));
      }
      for (size_t i = 0; i < list->get_array().size(); ++i)
        read_item(name, fmt::format("{}[{}]", name, i), list->get_array()[i]);
    }
    return {};
  }

 private:
  void leave_out(std::string_view place, std::string_view why) {
    actions_.malformed.push_back(fmt::format("{}: {}", place, why));
  }

  void read_item(std::string_view list, std::string_view place, const json::value& item) {
    const json::object* const object = item.if_object();
    if (object == nullptr) {
      return leave_out(place, fmt::format("it is {}, not an object", kind_name(item)));
    }
    const bool is_delete = list == "deletes";
    const bool is_create = list == "creates";
    std::optional<std::string> text;
    if (!is_delete && !(text = text_of(*object, "text"))) return leave_out(place, "no text");
    std::optional<std::string> target;
    if (!is_create && !(target = text_of(*object, "observation_id"))) {
      return leave_out(place, "no observation_id");
    }
    std::optional<std::vector<std::string>> sources;
    if (!is_delete && !(sources = sources_of(*object))) {
      return leave_out(place, "source_fact_ids is no list of ids");
    }
    std::string reason = text_of(*object, "reason").value_or("");
    if (is_create) {
      actions_.creates.push_back({.text = std::move(*text),
                                  .source_fact_ids = std::move(*sources),
                                  .reason = std::move(reason)});
    } else if (is_delete) {
      actions_.deletes.push_back(
          {.observation_id = std::move(*target), .reason = std::move(reason)});
    } else {
      actions_.updates.push_back({.text = std::move(*text),
                                  .observation_id = std::move(*target),
                                  .source_fact_ids = std::move(*sources),
                                  .reason = std::move(reason)});
    }
  }

  // Without NUL characters, which a database does not keep.
  static std::optional<std::string> text_of(const json::object& object, std::string_view name) {
    const json::value* const member = object.if_contains(name);
    if (member == nullptr || !member->is_string()) return std::nullopt;
    std::string text(member->get_string());
    std::erase(text, '\0');
    return text;
  }

  static std::optional<std::vector<std::string>> sources_of(const json::object& object) {
    const json::value* const member = object.if_contains("source_fact_ids");
    if (member == nullptr) return std::nullopt;
    if (member->is_string()) return std::vector<std::string>{std::string(member->get_string())};
    if (!member->is_array()) return std::nullopt;
    std::vector<std::string> ids;
    for (const json::value& id : member->get_array()) {
      if (!id.is_string()) return std::nullopt;
      ids.emplace_back(id.get_string());
    }
    return ids;
  }

  ModelActions actions_;
};

}  // namespace

std::string_view json_object_in(std::string_view response) {
  constexpr std::string_view kThoughtEnd = "</think>";
  const size_t thought_end = response.rfind(kThoughtEnd);
  // The mark may also stand in a text of the answer, which begins before it then.
  if (thought_end != std::string_view::npos && !response.starts_with('{')) {
    response.remove_prefix(thought_end + kThoughtEnd.size());
  }
  const size_t first = response.find('{');
  const size_t last = response.rfind('}');
  if (first == std::string_view::npos || last == std::string_view::npos || last < first) return {};
  return response.substr(first, last - first + 1);
}

Result<ModelActions> parse_actions(std::string_view response) {
  const std::string_view text = json_object_in(response);
  if (text.empty()) return unusable_response("the response holds no JSON object");
  const auto parsed = parse_json(text);
  if (const auto* const fault = std::get_if<JsonFault>(&parsed)) {
    return unusable_response(
        fmt::format("the response is no JSON: {} at byte {} of it", fault->reason, fault->byte));
  }
  ActionReader reader;
  if (Result<void> read = reader.read(std::get<json::value>(parsed).get_object()); !read) {
    return read.error();
  }
  return reader.take();
}

}  // namespace windrow::memory
