#include <fmt/format.h>

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

constexpr std::string_view kBlock =
    "a content block, such as {\"type\": \"text\", \"text\": \"...\"}";

// Skips members of a block that have no effect on a model. cache_control is one: prefixes are
// cached without it.
void skip_asides(ObjectReader& block) {
  block.skip({"cache_control", "citations", "parsed_output"});
}

json::object text_part(std::string text) {
  return {{"type", "text"}, {"text", std::move(text)}};
}

// A single text becomes a string, which every upstream accepts.
json::value block_content(json::array parts) {
  if (parts.empty()) return "";
  return parts.size() == 1 ? parts[0].at("text") : json::value(std::move(parts));
}

Problem unknown_block(const ObjectReader& block, std::string_view type, std::string_view known) {
  const std::string place = block.place("type");
  if (type == "image" || type == "document") {
    return llm::unsupported(place,
                            fmt::format("{} is \"{}\"; models here read only texts", place, type));
  }
  return llm::unsupported(
      place, fmt::format("{} is \"{}\"; here it must be {}", place, shown(type), known));
}

// Reads content that has only text: `system`, and tool results.
Problem read_texts(const std::string& place, const json::value& value, json::value& content) {
  if (value.is_string()) {
    content = value;
    return std::nullopt;
  }
  const json::array* blocks = value.if_array();
  if (blocks == nullptr)
    return llm::wrong_kind(place, "a string or an array of text blocks", value);
  json::array parts;
  for (size_t i = 0; i < blocks->size(); ++i) {
    ObjectReader block;
    const std::string at = fmt::format("{}[{}]", place, i);
    if (Problem problem = block.open((*blocks)[i], at, kBlock)) return problem;
    std::string type;
    std::string text;
    if (Problem problem = block.need("type", type)) return problem;
    if (type != "text") return unknown_block(block, type, "\"text\"");
    if (Problem problem = block.need("text", text)) return problem;
    skip_asides(block);
    if (Problem problem = block.rest("a text block has type and text")) return problem;
    parts.push_back(text_part(std::move(text)));
  }
  content = block_content(std::move(parts));
  return std::nullopt;
}

// Reads one message of `messages`.
class TurnReader {
 public:
  TurnReader(std::string place, TranslationDraft& draft)
      : place_(std::move(place)), draft_(draft) {}

  Problem read(const json::value& value) {
    ObjectReader turn;
    if (Problem problem = turn.open(value, place_, "an object with role and content"))
      return problem;
    if (Problem problem = turn.need("role", role_)) return problem;
    if (role_ != "user" && role_ != "assistant" && role_ != "system") {
      return llm::bad_value(turn.place("role"),
                            fmt::format("{} is \"{}\"; it must be user or assistant",
                                        turn.place("role"), shown(role_)));
    }
    const json::value* content = turn.take("content");
    if (content == nullptr) {
      return llm::missing_parameter(
          turn.place("content"),
          fmt::format("{} has no content; it must be a string or an array of content blocks",
                      place_));
    }
    // Clients may send an answer back with its id, its usage and members of their own.
    if (role_ != "assistant") {
      if (Problem problem = turn.rest("a message has role and content")) return problem;
    }
    return role_ == "assistant" ? read_assistant(turn.place("content"), *content)
                                : read_user(turn.place("content"), *content);
  }

 private:
  Problem read_user(const std::string& place, const json::value& content) {
    if (content.is_string()) {
      draft_.add_message({{"role", role_}, {"content", content}}, place_);
      return std::nullopt;
    }
    const json::array* blocks = content.if_array();
    if (blocks == nullptr || blocks->empty())
      return llm::wrong_kind(place, "a string or an array of content blocks", content);
    for (size_t i = 0; i < blocks->size(); ++i) {
      if (Problem problem = read_user_block(fmt::format("{}[{}]", place, i), (*blocks)[i])) {
        return problem;
      }
    }
    emit_parts();
    return std::nullopt;
  }

  Problem read_user_block(const std::string& at, const json::value& value) {
    ObjectReader block;
    if (Problem problem = block.open(value, at, kBlock)) return problem;
    std::string type;
    if (Problem problem = block.need("type", type)) return problem;
    skip_asides(block);
    if (type == "text") return read_text(block);
    if (type == "tool_result" && role_ == "user") return read_result(block);
    return unknown_block(block, type, role_ == "user" ? "\"text\" or \"tool_result\"" : "\"text\"");
  }

  Problem read_text(ObjectReader& block) {
    std::string text;
    if (Problem problem = block.need("text", text)) return problem;
    if (role_ != "assistant") {
      if (Problem problem = block.rest("a text block has type and text")) return problem;
    }
    parts_.push_back(text_part(std::move(text)));
    return std::nullopt;
  }

  // is_error has no effect: the content says it.
  Problem read_result(ObjectReader& block) {
    std::string id;
    if (Problem problem = block.need("tool_use_id", id)) return problem;
    block.skip({"is_error"});
    json::value content = "";
    if (const json::value* given = block.take("content")) {
      if (Problem problem = read_texts(block.place("content"), *given, content)) return problem;
    }
    if (Problem problem = block.rest("a tool_result has tool_use_id, content and is_error")) {
      return problem;
    }
    emit_parts();
    const std::string made = draft_.add_message(
        {{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}}, block.place());
    draft_.made.origins.add(made + ".tool_call_id", block.place("tool_use_id"));
    return std::nullopt;
  }

  // Ends the current message of texts.
  void emit_parts() {
    if (parts_.empty()) return;
    draft_.add_message({{"role", role_}, {"content", block_content(std::exchange(parts_, {}))}},
                       place_);
  }

  Problem read_assistant(const std::string& place, const json::value& content) {
    if (content.is_string()) {
      draft_.add_message({{"role", role_}, {"content", content}}, place_);
      return std::nullopt;
    }
    const json::array* blocks = content.if_array();
    if (blocks == nullptr)
      return llm::wrong_kind(place, "a string or an array of content blocks", content);
    for (size_t i = 0; i < blocks->size(); ++i) {
      if (Problem problem = read_assistant_block(fmt::format("{}[{}]", place, i), (*blocks)[i])) {
        return problem;
      }
    }
    json::object message{{"role", role_}, {"content", block_content(std::move(parts_))}};
    if (!thoughts_.empty()) message["reasoning_content"] = thoughts_;
    if (!calls_.empty()) message["tool_calls"] = std::move(calls_);
    const std::string made = draft_.add_message(std::move(message), place_);
    for (size_t i = 0; i < call_places_.size(); ++i) {
      const std::string call = fmt::format("{}.tool_calls[{}]", made, i);
      draft_.made.origins.add(call, call_places_[i]);
      draft_.made.origins.add(call + ".function.name", call_places_[i] + ".name");
      draft_.made.origins.add(call + ".function.arguments", call_places_[i] + ".input");
    }
    return std::nullopt;
  }

  // Unknown members of its blocks are ignored, as those of the message.
  Problem read_assistant_block(const std::string& at, const json::value& value) {
    ObjectReader block;
    if (Problem problem = block.open(value, at, kBlock)) return problem;
    std::string type;
    if (Problem problem = block.need("type", type)) return problem;
    if (type == "text") return read_text(block);
    if (type == "tool_use") return read_call(block);
    // Encrypted reasoning cannot be read here.
    if (type == "redacted_thinking") return std::nullopt;
    if (type != "thinking")
      return unknown_block(block, type, "\"text\", \"thinking\" or \"tool_use\"");
    std::string thoughts;
    if (Problem problem = block.need("thinking", thoughts)) return problem;
    thoughts_ += thoughts;
    return std::nullopt;
  }

  Problem read_call(ObjectReader& block) {
    std::string id;
    std::string name;
    if (Problem problem = block.need("id", id)) return problem;
    if (Problem problem = block.need("name", name)) return problem;
    const json::value* input = block.take("input");
    if (input != nullptr && !input->is_object())
      return llm::wrong_kind(block.place("input"), "an object", *input);
    const std::string arguments = input == nullptr ? "{}" : json::serialize(*input);
    calls_.emplace_back(
        json::object{{"id", id},
                     {"type", "function"},
                     {"function", json::object{{"name", name}, {"arguments", arguments}}}});
    call_places_.push_back(block.place());
    return std::nullopt;
  }

  const std::string place_;
  TranslationDraft& draft_;
  std::string role_;
  json::array parts_;
  std::string thoughts_;
  json::array calls_;
  std::vector<std::string> call_places_;
};

}  // namespace

Problem read_system(std::string_view name, const json::value& value, TranslationDraft& draft) {
  json::value content;
  if (Problem problem = read_texts(std::string(name), value, content)) return problem;
  draft.add_message({{"role", "system"}, {"content", std::move(content)}}, name);
  return std::nullopt;
}

Problem read_turns(std::string_view name, const json::value& value, TranslationDraft& draft) {
  const json::array* turns = value.if_array();
  if (turns == nullptr || turns->empty())
    return llm::wrong_kind(name, "an array with at least one message", value);
  for (size_t i = 0; i < turns->size(); ++i) {
    if (Problem problem = TurnReader(fmt::format("{}[{}]", name, i), draft).read((*turns)[i])) {
      return problem;
    }
  }
  if (draft.messages.back().at("role") != "assistant") return std::nullopt;
  const std::string last = fmt::format("{}[{}]", name, turns->size() - 1);
  return llm::unsupported(last, fmt::format("{} is the assistant's and the last one; an answer "
                                            "cannot be begun for the model: end with a message of "
                                            "the user",
                                            last));
}

}  // namespace windrow::api
