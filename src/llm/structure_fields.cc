#include "llm/request_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <initializer_list>
#include <utility>

#include "json/limits.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

using Kind = StructureSpec::Kind;

// No schema, expression or grammar in use is longer.
constexpr size_t kTextBytesMax = size_t{1} << 20;
constexpr size_t kChoicesMax = 10'000;

constexpr std::string_view kTypes =
    "\"text\", \"json_schema\", \"json_object\", \"regex\", \"grammar\" or \"choice\"";

Problem too_long(std::string_view param, size_t bytes) {
  if (bytes <= kTextBytesMax) return std::nullopt;
  return bad_value(
      param, fmt::format("{} has {} bytes; at most {} are accepted", param, bytes, kTextBytesMax));
}

Problem read_schema(std::string_view param, const json::value& value, StructureSpec& spec) {
  spec.kind = Kind::kJsonSchema;
  if (value.is_object() || value.is_bool()) {
    spec.text = json::serialize(value);
    return too_long(param, spec.text.size());
  }
  if (!value.is_string()) return wrong_kind(param, "a JSON Schema, which is an object", value);
  const std::string_view text = value.get_string();
  if (Problem problem = too_long(param, text.size())) return problem;
  boost::system::error_code error;
  const json::value schema = json::parse(text, error, {}, {.max_depth = kJsonDepthMax});
  if (error) {
    return bad_value(param, fmt::format("{} is a string that is no JSON ({}); give the schema as "
                                        "an object",
                                        param, error.message()));
  }
  if (schema.is_string()) return wrong_kind(param, "a JSON Schema, which is an object", schema);
  return read_schema(param, schema, spec);
}

Problem read_text(std::string_view param, const json::value& value, Kind kind,
                  StructureSpec& spec) {
  spec.kind = kind;
  if (Problem problem = read_filled_string(value, param, spec.text)) return problem;
  return too_long(param, spec.text.size());
}

Problem read_choices(std::string_view param, const json::value& value, StructureSpec& spec) {
  spec.kind = Kind::kChoice;
  const json::array* choices = value.if_array();
  if (choices == nullptr || choices->empty()) {
    return wrong_kind(param, "an array of strings, such as [\"yes\", \"no\"]", value);
  }
  if (choices->size() > kChoicesMax) {
    return bad_value(param, fmt::format("{} has {} texts; at most {} are accepted", param,
                                        choices->size(), kChoicesMax));
  }
  size_t bytes = 0;
  for (size_t i = 0; i < choices->size(); ++i) {
    const std::string place = fmt::format("{}[{}]", param, i);
    std::string& choice = spec.choices.emplace_back();
    if (Problem problem = read_filled_string((*choices)[i], place, choice)) return problem;
    bytes += choice.size();
  }
  return too_long(param, bytes);
}

Problem read_switch(std::string_view param, const json::value& value, std::string_view off,
                    std::string_view on, bool& target) {
  const json::string* word = value.if_string();
  if (word == nullptr || (*word != off && *word != on)) {
    return bad_value(param, fmt::format("{} must be \"{}\" or \"{}\"", param, off, on));
  }
  target = *word == on;
  return std::nullopt;
}

// The members of an object that asks for a structure. A reader takes out the members it knows; what
// is left is refused by name.
class Members {
 public:
  Members(std::string_view name, const json::object& object) : name_(name), object_(object) {}

  std::string param(std::string_view member) const { return fmt::format("{}.{}", name_, member); }

  // nullptr where it is absent or null.
  const json::value* take(std::string_view member) {
    taken_.push_back(member);
    const json::value* value = object_.if_contains(member);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  Problem missing(std::string_view member) const {
    return missing_parameter(param(member),
                             fmt::format("{} is missing; {} needs it", param(member), name_));
  }

  Problem rest() const {
    for (const auto& [member, value] : object_) {
      const std::string_view text = member;
      if (value.is_null() || std::ranges::find(taken_, text) != taken_.end()) continue;
      const std::string place = param(shown(text));
      return unsupported(place, fmt::format("{} is not supported beside {}; take it out", place,
                                            fmt::join(taken_, ", ")));
    }
    return std::nullopt;
  }

 private:
  std::string_view name_;
  const json::object& object_;
  std::vector<std::string_view> taken_;
};

Problem read_options(Members& members, StructureSpec& spec) {
  const bool schema = spec.kind == Kind::kJsonSchema;
  if (schema || spec.kind == Kind::kJsonObject) {
    if (const json::value* value = members.take("whitespace")) {
      if (Problem problem = read_switch(members.param("whitespace"), *value, "compact", "flexible",
                                        spec.flexible_whitespace))
        return problem;
    }
  }
  if (!schema) return std::nullopt;
  if (const json::value* value = members.take("additional_properties")) {
    if (Problem problem = read_switch(members.param("additional_properties"), *value, "closed",
                                      "open", spec.open))
      return problem;
  }
  const json::value* value = members.take("property_order");
  if (value == nullptr) return std::nullopt;
  return read_switch(members.param("property_order"), *value, "definition", "any", spec.any_order);
}

// {name, description, schema, strict}. Not strict would be a hope, so it is strict.
Problem read_named_schema(std::string_view name, const json::value& value, StructureSpec& spec) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return wrong_kind(name, "an object, such as {\"name\": \"answer\", \"schema\": {...}}", value);
  }
  Members members(name, *object);
  const json::value* schema = members.take("schema");
  if (schema == nullptr) return members.missing("schema");
  for (const std::string_view text : {"name", "description"}) {
    std::string ignored;
    const json::value* given = members.take(text);
    if (given == nullptr) continue;
    if (Problem problem = read_string(*given, members.param(text), ignored)) return problem;
  }
  if (const json::value* strict = members.take("strict")) {
    bool ignored = false;
    if (Problem problem = read_bool(*strict, members.param("strict"), ignored)) return problem;
  }
  if (Problem problem = members.rest()) return problem;
  return read_schema(members.param("schema"), *schema, spec);
}

Problem read_typed(Members& members, std::string_view type, StructureSpec& spec) {
  const json::value* value = nullptr;
  if (type == "json_schema") {
    value = members.take("json_schema");
    if (value == nullptr) return members.missing("json_schema");
    return read_named_schema(members.param("json_schema"), *value, spec);
  }
  if (type == "json_object") {
    spec.kind = Kind::kJsonObject;
    value = members.take("schema");  // llama-server's
    return value == nullptr ? std::nullopt : read_schema(members.param("schema"), *value, spec);
  }
  value = members.take(type);
  if (value == nullptr) return members.missing(type);
  const std::string param = members.param(type);
  if (type == "choice") return read_choices(param, *value, spec);
  return read_text(param, *value, type == "regex" ? Kind::kRegex : Kind::kGrammar, spec);
}

// One structure a request.
Problem take(std::string_view name, StructureSpec spec, Draft& draft) {
  std::optional<StructureSpec>& structured = draft.request.structured;
  if (structured) {
    return bad_value(name, fmt::format("{} and {} both ask for a structure; give one of them",
                                       structured->param, name));
  }
  spec.param = name;
  structured = std::move(spec);
  return std::nullopt;
}

}  // namespace

Problem read_response_format(std::string_view name, const json::value& value, Draft& draft) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return wrong_kind(name, "an object, such as {\"type\": \"json_object\"}", value);
  }
  Members members(name, *object);
  const json::value* type = members.take("type");
  if (type == nullptr) return members.missing("type");
  const json::string* word = type->if_string();
  const auto is = [&](std::string_view known) { return word != nullptr && *word == known; };
  if (is("text")) return members.rest();
  if (!is("json_schema") && !is("json_object") && !is("regex") && !is("grammar") && !is("choice")) {
    return bad_value(members.param("type"),
                     word == nullptr ? fmt::format("{} must be {}", members.param("type"), kTypes)
                                     : fmt::format("{} is \"{}\"; it must be {}",
                                                   members.param("type"), shown(*word), kTypes));
  }
  StructureSpec spec;
  if (Problem problem = read_typed(members, *word, spec)) return problem;
  if (Problem problem = read_options(members, spec)) return problem;
  if (Problem problem = members.rest()) return problem;
  return take(name, std::move(spec), draft);
}

// vLLM's: one of json, regex, choice, grammar and json_object.
Problem read_structured_outputs(std::string_view name, const json::value& value, Draft& draft) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return wrong_kind(name, "an object, such as {\"json\": {...}}", value);
  }
  Members members(name, *object);
  std::vector<std::string_view> given;
  StructureSpec spec;
  for (const std::string_view member : {"json", "regex", "choice", "grammar", "json_object"}) {
    const json::value* one = members.take(member);
    if (one == nullptr) continue;
    const std::string param = members.param(member);
    bool on = true;
    Problem problem;
    if (member == "json") problem = read_schema(param, *one, spec);
    if (member == "regex") problem = read_text(param, *one, Kind::kRegex, spec);
    if (member == "choice") problem = read_choices(param, *one, spec);
    if (member == "grammar") problem = read_text(param, *one, Kind::kGrammar, spec);
    if (member == "json_object") problem = read_bool(*one, param, on);
    if (problem) return problem;
    if (!on) continue;
    if (member == "json_object") spec.kind = Kind::kJsonObject;
    given.push_back(member);
  }
  if (given.size() > 1) {
    return bad_value(name, fmt::format("{} has {}, which each ask for a structure; give one of "
                                       "them",
                                       name, fmt::join(given, " and ")));
  }
  if (!given.empty()) {
    if (Problem problem = read_options(members, spec)) return problem;
  }
  if (Problem problem = members.rest()) return problem;
  return given.empty() ? std::nullopt : take(name, std::move(spec), draft);
}

Problem read_schema_field(std::string_view name, const json::value& value, Draft& draft) {
  StructureSpec spec;
  if (Problem problem = read_schema(name, value, spec)) return problem;
  return take(name, std::move(spec), draft);
}

Problem read_regex_field(std::string_view name, const json::value& value, Draft& draft) {
  StructureSpec spec;
  if (Problem problem = read_text(name, value, Kind::kRegex, spec)) return problem;
  return take(name, std::move(spec), draft);
}

Problem read_choice_field(std::string_view name, const json::value& value, Draft& draft) {
  StructureSpec spec;
  if (Problem problem = read_choices(name, value, spec)) return problem;
  return take(name, std::move(spec), draft);
}

Problem read_grammar_field(std::string_view name, const json::value& value, Draft& draft) {
  StructureSpec spec;
  if (Problem problem = read_text(name, value, Kind::kGrammar, spec)) return problem;
  return take(name, std::move(spec), draft);
}

Problem read_schema_unknown(std::string_view name, const json::value& value, Draft& draft) {
  bool refuse = false;
  if (Problem problem = read_switch(name, value, "annotate", "refuse", refuse)) return problem;
  draft.request.schema_unknown = refuse ? UnknownWords::kRefuse : UnknownWords::kAnnotate;
  return std::nullopt;
}

Problem read_tools_property_order(std::string_view name, const json::value& value, Draft& draft) {
  return read_switch(name, value, "definition", "any", draft.request.chat.tool_choice.any_order);
}

Problem settle_structure(Draft& draft) {
  const Request& request = draft.request;
  if (!request.structured) return std::nullopt;
  const std::string& param = request.structured->param;
  if (request.ignore_eos) {
    return bad_value("ignore_eos", fmt::format("ignore_eos is true beside {}; an answer with a "
                                               "structure ends when that is whole: take one of "
                                               "them out",
                                               param));
  }
  if (request.output_tokens_max == 0) {
    return bad_value("max_tokens", fmt::format("max_tokens is 0 beside {}; a structure needs room "
                                               "for an answer",
                                               param));
  }
  return std::nullopt;
}

}  // namespace windrow::llm
