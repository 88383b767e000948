#include "api/wire/body_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "llm/request_fields.h"

namespace windrow::api {

namespace json = boost::json;

using llm::Problem;
using llm::shown;

std::string TranslationDraft::add_message(json::object message, std::string_view sent) {
  std::string name = fmt::format("messages[{}]", messages.size());
  made.origins.add(name, std::string(sent));
  messages.emplace_back(std::move(message));
  return name;
}

Problem pass_on(std::string_view name, const json::value& value, TranslationDraft& draft) {
  draft.made.chat[name] = value;
  return std::nullopt;
}

Problem ignore_field(std::string_view, const json::value&, TranslationDraft&) {
  return std::nullopt;
}

void pass_as(std::string_view made, std::string_view sent, const json::value& value,
             TranslationDraft& draft) {
  draft.made.chat[made] = value;
  draft.made.origins.add(std::string(made), std::string(sent));
}

Problem wish_effort(std::string_view place, const json::value& value, TranslationDraft& draft) {
  std::string effort;
  if (Problem problem = llm::read_effort(value, place, effort)) return problem;
  draft.made.wishes["reasoning_effort"] = effort;
  return std::nullopt;
}

Problem read_tools(std::string_view name, const json::value& value, std::string_view wanted,
                   ToolReader read_tool, TranslationDraft& draft) {
  const json::array* given = value.if_array();
  if (given == nullptr) return llm::wrong_kind(name, wanted, value);
  json::array tools;
  for (size_t i = 0; i < given->size(); ++i) {
    if (Problem problem = read_tool(fmt::format("{}[{}]", name, i), (*given)[i], draft, tools))
      return problem;
  }
  if (!tools.empty()) draft.made.chat[name] = std::move(tools);
  return std::nullopt;
}

void choose_function(std::string_view name, const std::string& function, TranslationDraft& draft) {
  draft.made.chat[name] = {{"type", "function"}, {"function", {{"name", function}}}};
  draft.made.origins.add("tool_choice.function", std::string(name));
}

ObjectReader::ObjectReader(std::string place, const json::object& object)
    : place_(std::move(place)), object_(&object) {}

Problem ObjectReader::open(const json::value& value, std::string_view place,
                           std::string_view wanted) {
  object_ = value.if_object();
  if (object_ == nullptr) return llm::wrong_kind(place, wanted, value);
  place_ = place;
  return std::nullopt;
}

std::string ObjectReader::place(std::string_view member) const {
  return fmt::format("{}.{}", place_, member);
}

const json::value* ObjectReader::take(std::string_view member) {
  taken_.push_back(member);
  const json::value* value = object_->if_contains(member);
  return value == nullptr || value->is_null() ? nullptr : value;
}

void ObjectReader::skip(std::initializer_list<std::string_view> members) {
  taken_.insert(taken_.end(), members);
}

Problem ObjectReader::need(std::string_view member, std::string& target) {
  const json::value* value = take(member);
  if (value != nullptr) return llm::read_string(*value, place(member), target);
  return llm::missing_parameter(
      place(member), fmt::format("{} has no {}; it must have one, a string", place_, member));
}

Problem ObjectReader::rest(std::string_view has) const {
  for (const auto& [member, value] : *object_) {
    const std::string_view name = member;
    if (value.is_null() || std::ranges::find(taken_, name) != taken_.end()) continue;
    const std::string at = place(shown(name));
    return llm::unsupported(at, fmt::format("{} is not supported; {}", at, has));
  }
  return std::nullopt;
}

}  // namespace windrow::api
