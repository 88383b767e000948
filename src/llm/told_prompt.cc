#include "llm/told_prompt.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <utility>
#include <variant>

#include "json/parse.h"
#include "json/values.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr size_t kBodyBytesMax = size_t{1} << 20;

constexpr std::string_view kWish = "return_token_ids";

// With one of these the prompt is not what its text and the model's template give.
constexpr auto kChangesOfPrompts = std::to_array<std::string_view>(
    {"truncate_prompt_tokens", "chat_template", "prompt_embeds", "suffix", "prompt_token_ids"});

std::optional<json::value> parse_short(std::string_view text) {
  if (text.size() > kBodyBytesMax) return std::nullopt;
  auto parsed = parse_json(text);
  if (auto* value = std::get_if<json::value>(&parsed)) return std::move(*value);
  return std::nullopt;
}

bool has_value(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  return value != nullptr && !value->is_null();
}

// Empty where there are none.
std::vector<int64_t> ids_in(const json::value* body) {
  const json::value* value = member_in(body, "prompt_token_ids");
  const json::array* list = value == nullptr ? nullptr : value->if_array();
  std::vector<int64_t> ids;
  if (list == nullptr) return ids;
  ids.reserve(list->size());
  for (const json::value& id : *list) {
    const int64_t* number = id.if_int64();
    if (number == nullptr) return {};
    ids.push_back(*number);
  }
  return ids;
}

// The choice of the first prompt. Choices may come in any order.
const json::value* first_choice(const json::value& reply) {
  const json::value* choices = member_in(&reply, "choices");
  const json::array* list = choices == nullptr ? nullptr : choices->if_array();
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*list, [](const json::value& choice) {
    const json::value* index = member_in(&choice, "index");
    return index != nullptr && *index == 0;
  });
  return found == list->end() ? nullptr : &*found;
}

std::optional<ToldPrompt> of_completion(const json::object& body, const json::value& reply) {
  const json::value* prompt = body.if_contains("prompt");
  if (prompt == nullptr) return std::nullopt;
  if (const json::array* several = prompt->if_array()) {
    if (several->empty()) return std::nullopt;
    prompt = &several->front();
  }
  const json::string* text = prompt->if_string();
  if (text == nullptr) return std::nullopt;
  return ToldPrompt{.place = ToldPrompt::Text::kWhole,
                    .text = std::string(*text),
                    .ids = ids_in(first_choice(reply))};
}

// A string, or parts that are texts, of which the last one is enough. Nothing for pictures and the
// like: their tokens are made otherwise.
std::optional<std::string> text_in_content(const json::value* content) {
  if (content == nullptr) return "";
  if (const json::string* text = content->if_string()) return std::string(*text);
  const json::array* parts = content->if_array();
  if (parts == nullptr) return std::nullopt;
  std::string last;
  for (const json::value& part : *parts) {
    const json::object* object = part.if_object();
    if (object == nullptr || text_in(*object, "type") != "text") return std::nullopt;
    last = text_in(*object, "text");
  }
  return last;
}

std::optional<ToldPrompt> of_chat(const json::object& body, const json::value& reply) {
  const json::value* messages = body.if_contains("messages");
  const json::array* list = messages == nullptr ? nullptr : messages->if_array();
  if (list == nullptr) return std::nullopt;
  ToldPrompt told{.place = ToldPrompt::Text::kPart, .text = {}, .ids = {}};
  for (const json::value& message : *list) {
    const json::object* object = message.if_object();
    if (object == nullptr) return std::nullopt;
    std::optional<std::string> text = text_in_content(member_in(&message, "content"));
    if (!text) return std::nullopt;
    const bool of_user = text_in(*object, "role") == "user";
    told.place = of_user ? ToldPrompt::Text::kLastPart : ToldPrompt::Text::kPart;
    if (of_user) told.text = *std::move(text);
  }
  told.ids = ids_in(&reply);
  return told;
}

}  // namespace

bool may_tell_prompt(const Request& request) {
  return (request.endpoint == Endpoint::kCompletions ||
          request.endpoint == Endpoint::kChatCompletions) &&
         !request.verbatim && request.raw.size() <= kBodyBytesMax &&
         request.raw.find(kWish) != std::string::npos;
}

std::optional<ToldPrompt> told_prompt(const Request& request, std::string_view reply) {
  if (!may_tell_prompt(request)) return std::nullopt;
  const std::optional<json::value> body = parse_short(request.raw);
  const std::optional<json::value> answer = parse_short(reply);
  if (!body || !body->is_object() || !answer) return std::nullopt;
  const json::object& members = body->get_object();
  for (const std::string_view name : kChangesOfPrompts) {
    if (has_value(members, name)) return std::nullopt;
  }
  std::optional<ToldPrompt> told = request.endpoint == Endpoint::kCompletions
                                       ? of_completion(members, *answer)
                                       : of_chat(members, *answer);
  if (!told || told->ids.empty() || told->text.empty()) return std::nullopt;
  return told;
}

}  // namespace windrow::llm
