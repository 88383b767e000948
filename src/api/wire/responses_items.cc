#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "api/wire/body_fields.h"

namespace windrow::api {

namespace json = boost::json;

namespace {

using llm::Problem;
using llm::shown;

constexpr std::array<std::string_view, 4> kRoles = {"user", "assistant", "system", "developer"};

constexpr std::string_view kItem =
    "an item: a message, function_call, function_call_output, reasoning or item_reference";

// The origin of messages of earlier turns.
constexpr std::string_view kPrevious = "previous_response_id";

// The author of a content. Unknown members are ignored where the model is the author, because
// clients add their own to an answer before they send it back.
enum class Speaker : uint8_t { kModel, kOther };

Problem read_part(const std::string& place, const json::value& value, Speaker speaker,
                  json::array& parts, std::string& refusal) {
  ObjectReader part;
  if (Problem problem =
          part.open(value, place, "a part, such as {\"type\": \"input_text\", \"text\": ...}"))
    return problem;
  std::string type;
  if (Problem problem = part.need("type", type)) return problem;
  if (type == "refusal") return part.need("refusal", refusal);
  if (type != "input_text" && type != "output_text" && type != "text") {
    return llm::unsupported(part.place("type"),
                            fmt::format("{} is \"{}\"; only texts are accepted: input_text and "
                                        "output_text",
                                        part.place("type"), shown(type)));
  }
  std::string text;
  if (Problem problem = part.need("text", text)) return problem;
  if (speaker != Speaker::kModel) {
    part.skip({"annotations", "logprobs", "parsed", "prompt_cache_breakpoint"});
    if (Problem problem = part.rest("a part has type and text")) return problem;
  }
  parts.emplace_back(json::object{{"type", "text"}, {"text", std::move(text)}});
  return std::nullopt;
}

// A string, or parts. A refusal counts as text, because the model wrote it instead.
Problem read_content(const std::string& place, const json::value& value, Speaker speaker,
                     json::value& content) {
  if (value.is_string()) {
    content = value;
    return std::nullopt;
  }
  const json::array* array = value.if_array();
  if (array == nullptr) return llm::wrong_kind(place, "a string or an array of parts", value);
  json::array parts;
  for (size_t i = 0; i < array->size(); ++i) {
    std::string refusal;
    Problem problem =
        read_part(fmt::format("{}[{}]", place, i), (*array)[i], speaker, parts, refusal);
    if (problem) return problem;
    if (!refusal.empty()) parts.emplace_back(json::object{{"type", "text"}, {"text", refusal}});
  }
  // A single text becomes a string, which every upstream accepts.
  content = parts.size() == 1 ? parts[0].at("text") : json::value(std::move(parts));
  return std::nullopt;
}

// An item as it is stored and listed: with its type, and a message's content as parts.
json::object listed_item(const json::object& given) {
  json::object item = given;
  item.erase("type");
  item["type"] = given.contains("type") ? given.at("type") : json::value("message");
  if (item["type"].is_null()) item["type"] = "message";
  if (item["type"] != "message") return item;
  item.emplace("status", "completed");
  if (const json::value content = item["content"]; content.is_string()) {
    const bool answered = item["role"] == "assistant";
    json::object part{{"type", answered ? "output_text" : "input_text"}, {"text", content}};
    if (answered) part["annotations"] = json::array();
    item["content"] = json::array{std::move(part)};
  }
  return item;
}

// Reads items. Items of an earlier answer - messages of the assistant, function_call, reasoning -
// may have unknown members, because clients add their own.
class ItemsReader {
 public:
  explicit ItemsReader(TranslationDraft& draft) : draft_(draft) {}

  // Reads the items of earlier turns.
  Problem read_earlier() {
    const std::string& previous = draft_.made.turn.previous_id;
    if (previous.empty()) return std::nullopt;
    auto found = draft_.context.earlier->conversation(previous);
    if (auto* failure = std::get_if<llm::Failure>(&found)) {
      failure->param = kPrevious;
      return std::move(*failure);
    }
    for (const json::value& item : std::get<json::array>(found)) {
      if (Problem problem = read_item(std::string(kPrevious), item)) return problem;
      if (const json::value* id = item.as_object().if_contains("id"); id != nullptr)
        earlier_ids_.emplace(id->as_string());
    }
    return std::nullopt;
  }

  // Reads an item of this turn, or a reference to one of an earlier turn.
  Problem read(const std::string& place, const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr) return llm::wrong_kind(place, kItem, value);
    if (is_reference(*object)) return read_reference(place, *object);
    if (Problem problem = read_item(place, value)) return problem;
    draft_.made.turn.input_items.emplace_back(listed_item(*object));
    return std::nullopt;
  }

  Problem read_item(const std::string& place, const json::value& value) {
    ObjectReader item;
    if (Problem problem = item.open(value, place, kItem)) return problem;
    std::string type = "message";
    if (const json::value* given = item.take("type")) {
      if (Problem problem = llm::read_string(*given, item.place("type"), type)) return problem;
    }
    item.skip({"id", "status"});
    if (type == "message") return read_message(item);
    if (type == "function_call") return read_call(item);
    if (type == "function_call_output") return read_output(item);
    if (type == "reasoning") return read_thoughts(item);
    return llm::unsupported(
        item.place("type"),
        fmt::format("{} is \"{}\"; it must be {}", item.place("type"), shown(type), kItem));
  }

  // Ends the assistant's current message.
  void finish_turn() {
    if (!turn_open_) return;
    // An answer that was truncated within its reasoning has no content.
    if (content_.is_null() && calls_.empty()) content_ = "";
    json::object message{{"role", "assistant"}, {"content", std::move(content_)}};
    if (!thoughts_.empty()) message["reasoning_content"] = std::exchange(thoughts_, {});
    if (!calls_.empty()) message["tool_calls"] = std::exchange(calls_, {});
    const std::string name = draft_.add_message(std::move(message), turn_place_);
    for (size_t i = 0; i < call_places_.size(); ++i)
      add_origins_of_call(fmt::format("{}.tool_calls[{}]", name, i), call_places_[i]);
    call_places_.clear();
    content_ = nullptr;
    turn_open_ = false;
  }

 private:
  // A reference may lack its type; then it has only an id.
  static bool is_reference(const json::object& object) {
    const json::value* type = object.if_contains("type");
    if (type == nullptr || type->is_null()) return object.contains("id") && object.size() == 1;
    return *type == "item_reference";
  }

  // Some clients refer to items of the response that they continue, which have been read.
  Problem read_reference(const std::string& place, const json::object& object) {
    ObjectReader reference(place, object);
    std::string id;
    reference.skip({"type"});
    if (Problem problem = reference.need("id", id)) return problem;
    if (Problem problem = reference.rest("an item_reference has type and id")) return problem;
    if (earlier_ids_.contains(id)) return std::nullopt;
    if (draft_.context.earlier == nullptr) {
      return llm::unsupported(
          place, fmt::format("{} is an item_reference, and no items are kept for batches; send the "
                             "item itself",
                             place));
    }
    auto found = draft_.context.earlier->item(id);
    if (auto* failure = std::get_if<llm::Failure>(&found)) {
      failure->param = reference.place("id");
      return std::move(*failure);
    }
    const auto& item = std::get<json::value>(found);
    if (Problem problem = read_item(place, item)) return problem;
    draft_.made.turn.input_items.push_back(item);
    // A second reference adds nothing, and must not take memory again.
    earlier_ids_.insert(id);
    return std::nullopt;
  }

  void begin_turn(const std::string& place) {
    if (!std::exchange(turn_open_, true)) turn_place_ = place;
  }

  Problem read_message(ObjectReader& item) {
    std::string role;
    if (Problem problem = item.need("role", role)) return problem;
    if (std::ranges::find(kRoles, role) == kRoles.end()) {
      return llm::bad_value(item.place("role"),
                            fmt::format("{} is \"{}\"; it must be user, assistant, system or "
                                        "developer",
                                        item.place("role"), shown(role)));
    }
    const json::value* given = item.take("content");
    if (given == nullptr) {
      return llm::missing_parameter(
          item.place("content"),
          fmt::format("{} has no content; it must be a string or an array of parts", item.place()));
    }
    const bool echoed = role == "assistant";
    json::value content;
    if (Problem problem = read_content(item.place("content"), *given,
                                       echoed ? Speaker::kModel : Speaker::kOther, content)) {
      return problem;
    }
    if (!echoed) {
      item.skip({"phase", "structure", "structure_warnings"});
      if (Problem problem = item.rest("a message has type, role and content")) return problem;
      finish_turn();
      draft_.add_message({{"role", role}, {"content", std::move(content)}}, item.place());
      return std::nullopt;
    }
    if (!content_.is_null() || !calls_.empty()) finish_turn();
    begin_turn(item.place());
    content_ = std::move(content);
    return std::nullopt;
  }

  Problem read_call(ObjectReader& item) {
    std::string id;
    std::string name;
    std::string arguments;
    if (Problem problem = item.need("call_id", id)) return problem;
    if (Problem problem = item.need("name", name)) return problem;
    if (Problem problem = item.need("arguments", arguments)) return problem;
    begin_turn(item.place());
    calls_.emplace_back(
        json::object{{"id", id},
                     {"type", "function"},
                     {"function", json::object{{"name", name}, {"arguments", arguments}}}});
    call_places_.push_back(item.place());
    return std::nullopt;
  }

  Problem read_output(ObjectReader& item) {
    std::string id;
    if (Problem problem = item.need("call_id", id)) return problem;
    const json::value* given = item.take("output");
    if (given == nullptr) {
      return llm::missing_parameter(
          item.place("output"),
          fmt::format("{} has no output; it must be a string or an array of parts", item.place()));
    }
    json::value content;
    if (Problem problem = read_content(item.place("output"), *given, Speaker::kOther, content)) {
      return problem;
    }
    if (Problem problem = item.rest("a function_call_output has call_id and output")) {
      return problem;
    }
    finish_turn();
    const std::string made = draft_.add_message(
        {{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}}, item.place());
    draft_.made.origins.add(made + ".tool_call_id", item.place("call_id"));
    draft_.made.origins.add(made + ".content", item.place("output"));
    return std::nullopt;
  }

  // {"summary": [...], "content": [{"type": "reasoning_text", "text"}]}. Summaries and
  // encrypted reasoning are left out.
  Problem read_thoughts(ObjectReader& item) {
    std::string thoughts;
    if (const json::value* content = item.take("content")) {
      const json::array* parts = content->if_array();
      if (parts == nullptr)
        return llm::wrong_kind(item.place("content"), "an array of reasoning_text", *content);
      for (size_t i = 0; i < parts->size(); ++i) {
        const std::string place = fmt::format("{}[{}]", item.place("content"), i);
        ObjectReader part;
        if (Problem problem = part.open((*parts)[i], place, "a reasoning_text")) return problem;
        std::string text;
        if (Problem problem = part.need("text", text)) return problem;
        thoughts += text;
      }
    }
    if (thoughts.empty()) return std::nullopt;
    if (!content_.is_null() || !calls_.empty()) finish_turn();
    begin_turn(item.place());
    thoughts_ += thoughts;
    return std::nullopt;
  }

  void add_origins_of_call(const std::string& made, const std::string& sent) {
    Origins& origins = draft_.made.origins;
    origins.add(made, sent);
    origins.add(made + ".id", sent + ".call_id");
    origins.add(made + ".function.name", sent + ".name");
    origins.add(made + ".function.arguments", sent + ".arguments");
  }

  TranslationDraft& draft_;
  std::set<std::string, std::less<>> earlier_ids_;
  bool turn_open_ = false;
  std::string turn_place_;
  std::string thoughts_;
  json::value content_;  // null: no text yet
  json::array calls_;
  std::vector<std::string> call_places_;
};

}  // namespace

Problem read_input(std::string_view name, const json::value& value, TranslationDraft& draft) {
  draft.made.origins.add("messages", std::string(name));
  ItemsReader reader(draft);
  if (Problem problem = reader.read_earlier()) return problem;
  if (value.is_string()) {
    reader.finish_turn();
    const json::object message{{"role", "user"}, {"content", value}};
    draft.add_message(message, name);
    draft.made.turn.input_items.emplace_back(listed_item(message));
    return std::nullopt;
  }
  const json::array* items = value.if_array();
  if (items == nullptr || items->empty())
    return llm::wrong_kind(name, "a string, or an array with at least one item", value);
  for (size_t i = 0; i < items->size(); ++i) {
    if (Problem problem = reader.read(fmt::format("{}[{}]", name, i), (*items)[i])) return problem;
  }
  reader.finish_turn();
  return std::nullopt;
}

}  // namespace windrow::api
