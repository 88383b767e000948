#include "llm/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdint>
#include <utility>

#include "json/limits.h"

namespace windrow::llm {

namespace json = boost::json;

// --- tools ---

namespace {

// {"type": "function", "function": {"name": ...}}
Problem read_function(const std::string& param, const json::value& value,
                      const json::object*& function) {
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong_kind(param, "an object with type and function", value);
  const json::value* type = object->if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return bad_value(param + ".type",
                     fmt::format("{0} has no type; {0}.type must be \"function\"", param));
  }
  if (type->get_string() != "function") {
    return unsupported(param + ".type",
                       fmt::format("{}.type is \"{}\"; only \"function\" is accepted", param,
                                   shown(type->get_string())));
  }
  const json::value* member = object->if_contains("function");
  function = member == nullptr ? nullptr : member->if_object();
  if (function == nullptr) {
    return bad_value(param + ".function",
                     fmt::format("{0} has no function; {0}.function must be an object", param));
  }
  const json::value* name = function->if_contains("name");
  if (name != nullptr && name->is_string() && !name->get_string().empty()) return std::nullopt;
  return bad_value(
      param + ".function.name",
      fmt::format("{}.function has no name; it must be a string that is not empty", param));
}

// An object, or the text of one, which is checked and stays as it was written.
Problem read_arguments(const std::string& param, const json::value* value, json::value& arguments) {
  if (value == nullptr || value->is_null()) return std::nullopt;  // a call without any
  if (value->is_object()) {
    arguments = *value;
    return std::nullopt;
  }
  const json::string* text = value->if_string();
  if (text == nullptr) return wrong_kind(param, "a string of JSON, or an object", *value);
  if (text->empty()) return std::nullopt;
  boost::system::error_code error;
  const json::value parsed = json::parse(*text, error, {}, {.max_depth = kJsonDepthMax});
  if (error || !parsed.is_object()) {
    return bad_value(
        param, fmt::format("{} is \"{}\", which is not a JSON object; it must be one, as text",
                           param, shown(*text)));
  }
  arguments = *value;
  return std::nullopt;
}

// `has` says what there may be.
Problem check_members(const std::string& param, const json::object& object,
                      std::initializer_list<std::string_view> known, std::string_view has) {
  for (const auto& [key, member] : object) {
    bool found = member.is_null();
    for (const std::string_view name : known)
      found = found || key == name;
    if (found) continue;
    const std::string place = fmt::format("{}.{}", param, shown(key));
    return unsupported(place, fmt::format("{} is not supported; {}", place, has));
  }
  return std::nullopt;
}

// Characters that every family's format of calls allows in a name. Names of tools
// that come from other servers have dots, slashes and colons; others keep to OpenAI's, which
// has none of these and 64 at most.
bool is_tool_name(std::string_view name) {
  constexpr size_t kBytesMax = 128;
  return name.size() <= kBytesMax && std::ranges::all_of(name, [](char byte) {
           return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= '0' && byte <= '9') ||
                  std::string_view("_-./:").find(byte) != std::string_view::npos;
         });
}

Problem read_tool(const std::string& param, const json::value& value, json::object& tool) {
  const json::object* function = nullptr;
  if (Problem problem = read_function(param, value, function)) return problem;
  tool = value.get_object();
  const std::string function_param = param + ".function";
  constexpr std::string_view kHas =
      "a tool has the members type and function, and function has name, description, parameters "
      "and "
      "strict";
  if (Problem problem = check_members(param, tool, {"type", "function", "cache_control"}, kHas))
    return problem;
  // Its result type is used by templates for such descriptions.
  if (Problem problem =
          check_members(function_param, *function,
                        {"name", "description", "parameters", "strict", "return"}, kHas)) {
    return problem;
  }
  const std::string_view name = function->at("name").get_string();
  if (!is_tool_name(name)) {
    return bad_value(function_param + ".name",
                     fmt::format("{}.name is \"{}\"; a name has at most 128 letters and digits of "
                                 "ASCII, and of these: _ - . / :",
                                 function_param, shown(name)));
  }
  if (const json::value* parameters = function->if_contains("parameters");
      parameters != nullptr && !parameters->is_null() && !parameters->is_object()) {
    return wrong_kind(function_param + ".parameters", "a JSON Schema, which is an object",
                      *parameters);
  }
  tool.erase("cache_control");  // common prefixes are cached anyway
  return std::nullopt;
}

// A call is an answer's, sent back: what the client's library keeps beside it (the index of a
// stream's deltas, parsed arguments, a vendor's own members) is left out.
Problem read_tool_call(const std::string& param, const json::value& value, json::object& call) {
  const json::object* function = nullptr;
  if (Problem problem = read_function(param, value, function)) return problem;
  const json::object& object = value.get_object();
  const std::string function_param = param + ".function";
  json::value arguments = json::object();
  if (Problem problem = read_arguments(function_param + ".arguments",
                                       function->if_contains("arguments"), arguments)) {
    return problem;
  }
  const json::value* id = object.if_contains("id");
  if (id != nullptr && !id->is_null()) {
    std::string text;
    if (Problem problem = read_string(*id, param + ".id", text)) return problem;
    call["id"] = text;
  }
  call["type"] = "function";
  call["function"] =
      json::object{{"name", function->at("name")}, {"arguments", std::move(arguments)}};
  return std::nullopt;
}

}  // namespace

Problem read_tools(std::string_view name, const json::value& value, json::array& tools) {
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_kind(name, "an array of tools", value);
  for (size_t i = 0; i < array->size(); ++i) {
    json::object tool;
    if (Problem problem = read_tool(fmt::format("{}[{}]", name, i), (*array)[i], tool))
      return problem;
    tools.emplace_back(std::move(tool));
  }
  return std::nullopt;
}

Problem read_tool_calls(std::string_view name, const json::value& value, json::array& calls) {
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_kind(name, "an array of tool calls", value);
  for (size_t i = 0; i < array->size(); ++i) {
    json::object call;
    if (Problem problem = read_tool_call(fmt::format("{}[{}]", name, i), (*array)[i], call)) {
      return problem;
    }
    calls.emplace_back(std::move(call));
  }
  return std::nullopt;
}

// --- messages ---

namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

// Members of an answer that is sent back which have no content: "annotations": [] and the like.
bool says_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty());
}

// An answer is sent back with whatever the client's library keeps beside it, which says nothing to
// a model; in the parts of other messages an unknown member may be a mistake.
enum class Echo : uint8_t { kNo, kYes };

// A part of the type refusal is what the model said in place of an answer, so its text counts.
Problem read_part(const std::string& param, const json::value& value, Echo echo,
                  std::string& text) {
  const json::object* part = value.if_object();
  if (part == nullptr) {
    return wrong_kind(param, "a text part, {\"type\": \"text\", \"text\": \"...\"}", value);
  }
  const json::value* type = part->if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return bad_value(param + ".type",
                     fmt::format("{} must be an object with a type; the type must be text", param));
  }
  const bool refusal = echo == Echo::kYes && type->get_string() == "refusal";
  if (type->get_string() != "text" && !refusal) {
    return unsupported(param, fmt::format("{} is of type {}; only text parts are accepted", param,
                                          shown(type->get_string())));
  }
  const std::string_view text_member = refusal ? "refusal" : "text";
  std::string own_text;
  bool has_text = false;
  for (const auto& [key, member] : *part) {
    // Marks for caches: common prefixes are cached anyway.
    if (key == "cache_control" || key == "prompt_cache_breakpoint") continue;
    if (key == "type" || says_nothing(member)) continue;
    const std::string place = fmt::format("{}.{}", param, shown(key));
    if (key != text_member) {
      if (echo == Echo::kYes) continue;
      return unsupported(place,
                         fmt::format("{} is not supported; a text part has type and text", place));
    }
    if (Problem problem = read_string(member, place, own_text)) return problem;
    has_text = true;
  }
  if (!has_text) {
    return bad_value(fmt::format("{}.{}", param, text_member),
                     fmt::format("{} has no {}; it must have one, a string", param, text_member));
  }
  text += own_text;
  return std::nullopt;
}

// A string, or parts that are joined without anything between them.
Problem read_content(const std::string& param, const json::value& value, Echo echo,
                     std::string& text) {
  if (value.is_string()) return read_string(value, param, text);
  const json::array* parts = value.if_array();
  if (parts == nullptr) return wrong_kind(param, "a string or an array of text parts", value);
  for (size_t i = 0; i < parts->size(); ++i) {
    Problem problem = read_part(fmt::format("{}[{}]", param, i), (*parts)[i], echo, text);
    if (problem) return problem;
  }
  return std::nullopt;
}

class MessageReader {
 public:
  explicit MessageReader(std::string param) : param_(std::move(param)) {}

  Problem read(const json::value& value, json::object& message) {
    const json::object* object = value.if_object();
    if (object == nullptr) return wrong_kind(param_, "an object with role and content", value);
    if (Problem problem = read_role(*object)) return problem;
    for (const auto& [key, member] : *object) {
      // Content may be an array without parts, and then is an empty text.
      const bool nothing = key == "content" ? member.is_null() : says_nothing(member);
      if (key == "role" || nothing) continue;
      if (Problem problem = read_member(key, member)) return problem;
    }
    if (!content_ && refusal_) content_ = refusal_;
    if (!content_ && tool_calls_.empty() && !reasoning_) {
      return bad_value(place("content"),
                       fmt::format("{} has no content; it must be a string or an array of text "
                                   "parts{}",
                                   param_, assistant() ? ", or there must be tool_calls" : ""));
    }
    message = take();
    return std::nullopt;
  }

 private:
  std::string place(std::string_view key) const { return fmt::format("{}.{}", param_, shown(key)); }

  bool assistant() const { return role_ == "assistant"; }

  Problem read_role(const json::object& message) {
    constexpr std::string_view kWanted = "system, developer, user, assistant or tool";
    const json::value* role = message.if_contains("role");
    if (role == nullptr) {
      return bad_value(place("role"),
                       fmt::format("{} has no role; it must be {}", param_, kWanted));
    }
    if (!role->is_string()) return wrong_kind(place("role"), kWanted, *role);
    role_ = role->get_string();
    if (std::find(kRoles.begin(), kRoles.end(), role_) != kRoles.end()) return std::nullopt;
    return bad_value(place("role"),
                     fmt::format("{} is \"{}\"; it must be {}{}", place("role"), shown(role_),
                                 kWanted, role_ == "function" ? " (tool is its successor)" : ""));
  }

  Problem read_member(std::string_view key, const json::value& value) {
    if (key == "content") {
      return read_content(place(key), value, assistant() ? Echo::kYes : Echo::kNo,
                          content_.emplace());
    }
    if (key == "name") return read_string(value, place(key), name_.emplace());
    if (key == "tool_call_id") {
      if (role_ != "tool") return of_another_role(key, "tool");
      return read_string(value, place(key), tool_call_id_.emplace());
    }
    if (key == "tool_calls") {
      if (!assistant()) return of_another_role(key, "assistant");
      return read_tool_calls(place(key), value, tool_calls_);
    }
    if (key == "reasoning_content" || key == "reasoning") return read_reasoning(key, value);
    if (key == "function_call") {
      return unsupported(
          place(key), fmt::format("{} is not supported; tool_calls is its successor", place(key)));
    }
    if (key == "audio" && assistant()) {
      return unsupported(place(key), fmt::format("{} is not supported: only texts are read; send "
                                                 "its transcript as content",
                                                 place(key)));
    }
    if (assistant()) {
      if (key == "refusal" && value.is_string()) refusal_ = std::string(value.get_string());
      return std::nullopt;
    }
    return unsupported(place(key),
                       fmt::format("{} is not supported; a message has role, content, name, "
                                   "tool_calls, tool_call_id and reasoning_content",
                                   place(key)));
  }

  Problem of_another_role(std::string_view key, std::string_view role) const {
    return bad_value(place(key), fmt::format("{} belongs to messages of the role {}; the role is "
                                             "{}, so take it out",
                                             place(key), role, role_));
  }

  Problem read_reasoning(std::string_view key, const json::value& value) {
    if (!assistant()) return of_another_role(key, "assistant");
    std::string text;
    if (Problem problem = read_string(value, place(key), text)) return problem;
    if (reasoning_ && *reasoning_ != text) {
      return bad_value(place(key), fmt::format("{} has reasoning and reasoning_content, which are "
                                               "one thing, and they differ; give one of them",
                                               param_));
    }
    reasoning_ = std::move(text);
    return std::nullopt;
  }

  json::object take() {
    json::object message;
    message["role"] = role_;
    message["content"] = content_.value_or("");
    if (name_) message["name"] = *name_;
    if (reasoning_) message["reasoning_content"] = *reasoning_;
    if (!tool_calls_.empty()) message["tool_calls"] = std::move(tool_calls_);
    if (tool_call_id_) message["tool_call_id"] = *tool_call_id_;
    return message;
  }

  std::string param_;
  std::string role_;
  std::optional<std::string> content_;
  std::optional<std::string> refusal_;  // said in place of content
  std::optional<std::string> name_;
  std::optional<std::string> reasoning_;
  std::optional<std::string> tool_call_id_;
  json::array tool_calls_;
};

}  // namespace

Problem read_messages(std::string_view name, const json::value& value, json::array& messages) {
  const json::array* array = value.if_array();
  if (array == nullptr || array->empty()) {
    return wrong_kind(name, "an array with at least one message", value);
  }
  messages.reserve(array->size());
  for (size_t i = 0; i < array->size(); ++i) {
    json::object message;
    if (Problem problem =
            MessageReader(fmt::format("{}[{}]", name, i)).read((*array)[i], message)) {
      return problem;
    }
    messages.emplace_back(std::move(message));
  }
  return std::nullopt;
}

}  // namespace windrow::llm
