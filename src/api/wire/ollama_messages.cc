#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Problem;
using llm::shown;

constexpr std::array<std::string_view, 4> kOllamaRoles = {"system", "user", "assistant", "tool"};

// Models here read no images: only an empty array is accepted.
Problem refuse_images(std::string_view place, const json::value& value) {
  if (value.is_array() && value.get_array().empty()) return std::nullopt;
  return llm::unsupported(
      place,
      fmt::format("{} are not supported: models here read only texts; take them out", place));
}

class OllamaMessages {
 public:
  explicit OllamaMessages(TranslationDraft& draft) : draft_(draft) {}

  Problem read(const std::string& place, const json::value& value) {
    ObjectReader message;
    if (Problem problem = message.open(value, place, "a message, {role, content}")) return problem;
    std::string role;
    if (Problem problem = message.need("role", role)) return problem;
    if (std::ranges::find(kOllamaRoles, role) == kOllamaRoles.end()) {
      return llm::bad_value(message.place("role"),
                            fmt::format("{} is \"{}\"; it must be system, user, assistant or tool",
                                        message.place("role"), shown(role)));
    }
    std::string content;
    if (const json::value* given = message.take("content")) {
      if (Problem problem = llm::read_string(*given, message.place("content"), content))
        return problem;
    }
    if (const json::value* images = message.take("images")) {
      if (Problem problem = refuse_images(message.place("images"), *images)) return problem;
    }
    json::object made{{"role", role}, {"content", content}};
    if (role == "assistant") return add_answer(message, std::move(made));
    if (role == "tool") return add_result(message, std::move(made));
    if (Problem problem = message.rest("a message has role and content")) return problem;
    draft_.add_message(std::move(made), place);
    return std::nullopt;
  }

 private:
  struct OpenCall {
    std::string id;
    std::string name;
  };

  // Clients may send back the other members of an answer.
  Problem add_answer(ObjectReader& message, json::object made) {
    if (const json::value* thinking = message.take("thinking")) {
      std::string thoughts;
      if (Problem problem = llm::read_string(*thinking, message.place("thinking"), thoughts))
        return problem;
      if (!thoughts.empty()) made["reasoning_content"] = thoughts;
    }
    std::vector<std::string> places;
    json::array calls;
    if (const json::value* given = message.take("tool_calls")) {
      const json::array* array = given->if_array();
      if (array == nullptr)
        return llm::wrong_kind(message.place("tool_calls"), "an array of calls", *given);
      open_.clear();
      for (size_t i = 0; i < array->size(); ++i) {
        places.push_back(fmt::format("{}[{}]", message.place("tool_calls"), i));
        if (Problem problem = read_call(places.back(), (*array)[i], calls)) return problem;
      }
    }
    if (!calls.empty()) made["tool_calls"] = std::move(calls);
    const std::string name = draft_.add_message(std::move(made), message.place());
    for (size_t i = 0; i < places.size(); ++i)
      draft_.made.origins.add(fmt::format("{}.tool_calls[{}]", name, i), places[i]);
    return std::nullopt;
  }

  // {"id", "function": {"index", "name", "arguments": {...}}}
  Problem read_call(const std::string& place, const json::value& value, json::array& calls) {
    constexpr std::string_view kWanted = "a call, {\"function\": {\"name\", \"arguments\"}}";
    ObjectReader call;
    if (Problem problem = call.open(value, place, kWanted)) return problem;
    std::string id = fmt::format("call_{}", calls_++);
    if (const json::value* given = call.take("id")) {
      if (Problem problem = llm::read_filled_string(*given, call.place("id"), id)) return problem;
    }
    const json::value* given = call.take("function");
    if (given == nullptr)
      return llm::missing_parameter(
          call.place("function"), fmt::format("{} has no function; it must be {}", place, kWanted));
    ObjectReader function;
    if (Problem problem = function.open(*given, call.place("function"), kWanted)) return problem;
    std::string name;
    if (Problem problem = function.need("name", name)) return problem;
    const json::value* arguments = function.take("arguments");
    const std::string text = arguments == nullptr ? "{}" : json::serialize(*arguments);
    calls.emplace_back(
        json::object{{"id", id},
                     {"type", "function"},
                     {"function", json::object{{"name", name}, {"arguments", text}}}});
    open_.push_back({std::move(id), std::move(name)});
    return std::nullopt;
  }

  // A result belongs to the call with its id, else to the first call of its tool without a result,
  // else to the first call without one.
  Problem add_result(ObjectReader& message, json::object made) {
    std::string tool;
    std::string id;
    for (const std::string_view member : {"name", "tool_name"}) {
      if (const json::value* given = message.take(member)) {
        if (Problem problem = llm::read_string(*given, message.place(member), tool)) return problem;
      }
    }
    if (const json::value* given = message.take("tool_call_id")) {
      if (Problem problem = llm::read_string(*given, message.place("tool_call_id"), id))
        return problem;
    }
    if (Problem problem = message.rest("a result has role, content, tool_name and tool_call_id")) {
      return problem;
    }
    const auto found = std::ranges::find_if(open_, [&](const OpenCall& call) {
      return id.empty() ? tool.empty() || call.name == tool : call.id == id;
    });
    if (id.empty()) id = found == open_.end() ? fmt::format("call_{}", calls_++) : found->id;
    if (found != open_.end()) open_.erase(found);
    made["tool_call_id"] = id;
    draft_.add_message(std::move(made), message.place());
    return std::nullopt;
  }

  TranslationDraft& draft_;
  std::vector<OpenCall> open_;  // calls of the last answer that have no result yet
  int32_t calls_ = 0;
};

}  // namespace

Problem read_ollama_messages(std::string_view name, const json::value& value,
                             TranslationDraft& draft) {
  const json::array* messages = value.if_array();
  if (messages == nullptr) return llm::wrong_kind(name, "an array of messages", value);
  OllamaMessages reader(draft);
  for (size_t i = 0; i < messages->size(); ++i) {
    if (Problem problem = reader.read(fmt::format("{}[{}]", name, i), (*messages)[i]))
      return problem;
  }
  return std::nullopt;
}

}  // namespace windrow::api
