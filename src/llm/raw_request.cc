#include "llm/raw_request.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "json/members.h"
#include "json/values.h"
#include "llm/request_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

const json::value* field(const json::object& members, const json::object& defaults,
                         std::string_view name) {
  const json::value* own = members.if_contains(name);
  if (own != nullptr && !own->is_null()) return own;
  const json::value* fallback = defaults.if_contains(name);
  return fallback != nullptr && !fallback->is_null() ? fallback : nullptr;
}

std::optional<int32_t> whole_request(const json::value* value) {
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<int64_t>(error);
  if (error || number < 0 || number > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(number);
}

size_t inputs_of(const json::value* input) {
  if (input == nullptr) return 0;
  const json::array* array = input->if_array();
  // An array of token numbers is one input.
  if (array == nullptr || array->empty() || array->front().is_number()) return 1;
  return array->size();
}

void set_schema(const json::value* schema, std::string_view field, Request& request) {
  request.structure = Structure::kJson;
  request.structure_field = field;
  if (schema != nullptr && !schema->is_null()) request.structure_schema = json::serialize(*schema);
}

// OpenAI's field, or one of vLLM's, where a schema may also be a text.
void read_structure(const json::object& members, const json::object& defaults, Request& request) {
  constexpr std::string_view kFormat = "response_format";
  const json::value* format = field(members, defaults, kFormat);
  const json::value* type = member_in(format, "type");
  if (type != nullptr && *type == "json_schema")
    return set_schema(member_in(member_in(format, "json_schema"), "schema"), kFormat, request);
  const json::value* guided = field(members, defaults, "guided_json");
  const json::value* newer = member_in(field(members, defaults, "structured_outputs"), "json");
  const json::value* schema = guided != nullptr ? guided : newer;
  if (schema != nullptr && !schema->is_null()) {
    set_schema(schema, guided != nullptr ? "guided_json" : "structured_outputs", request);
    if (schema->is_string()) request.structure_schema = schema->get_string();
  } else if (type != nullptr && *type == "json_object") {
    request.structure = Structure::kJsonObject;
    request.structure_field = kFormat;
  }
}

// Objects of members as JSON text.
class Writer {
 public:
  void add(std::string_view key, std::string_view value) {
    text_ += text_.empty() ? '{' : ',';
    text_ += key;
    text_ += ':';
    text_ += value;
  }

  std::string take() {
    if (text_.empty()) text_ = "{";
    text_ += '}';
    return std::move(text_);
  }

 private:
  std::string text_;
};

std::string in_quotes(std::string_view name) {
  return json::serialize(json::string_view(name.data(), name.size()));
}

bool means_any(std::string_view key, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return json_key_is(key, name); });
}

}  // namespace

Request raw_request(Endpoint endpoint, std::string_view body, const json::object& members,
                    const json::object& defaults) {
  Request request;
  request.endpoint = endpoint;

  const bool streams = members.contains("stream") || members.contains("stream_options");
  const auto wants_default = [&](const json::key_value_pair& one) {
    const json::value* own = members.if_contains(one.key());
    return own == nullptr || own->is_null();
  };
  const bool complete = std::none_of(defaults.begin(), defaults.end(), wants_default);
  if (!streams && complete) {
    request.raw = body;
  } else {
    Writer writer;
    for (const JsonMember& member : json_members(body)) {
      if (means_any(member.key, {"stream", "stream_options"})) continue;
      const bool replaced = member.value == "null" &&
                            std::any_of(defaults.begin(), defaults.end(), [&](const auto& one) {
                              return json_key_is(member.key, one.key());
                            });
      if (!replaced) writer.add(member.key, member.value);
    }
    for (const json::key_value_pair& one : defaults) {
      if (wants_default(one)) writer.add(in_quotes(one.key()), json::serialize(one.value()));
    }
    request.raw = writer.take();
  }

  if (const json::value* model = field(members, defaults, "model"); model && model->is_string())
    request.model = std::string(model->get_string());
  if (const json::value* value = field(members, defaults, "temperature");
      value && value->is_number()) {
    boost::system::error_code error;
    const auto number = value->to_number<double>(error);
    if (!error) request.sampling.temperature = static_cast<float>(number);
  }
  const json::value* completion_tokens = field(members, defaults, "max_completion_tokens");
  request.output_tokens_max = whole_request(
      completion_tokens != nullptr ? completion_tokens : field(members, defaults, "max_tokens"));
  request.choices = std::max(whole_request(field(members, defaults, "n")).value_or(1), 1);
  const char* input = endpoint == Endpoint::kEmbeddings ? "input"
                      : endpoint == Endpoint::kRerank   ? "documents"
                                                        : "prompt";
  request.inputs.resize(inputs_of(field(members, defaults, input)));
  request.repeats = endpoint == Endpoint::kEmbeddings || endpoint == Endpoint::kRerank ||
                    request.sampling.temperature == 0.0F ||
                    field(members, defaults, "seed") != nullptr;
  read_structure(members, defaults, request);
  return request;
}

std::string with_member(std::string_view body, std::string_view name, std::string_view value) {
  Writer writer;
  bool there = false;
  for (const JsonMember& member : json_members(body)) {
    const bool own = json_key_is(member.key, name);
    if (own && there) continue;
    writer.add(member.key, own ? value : member.value);
    there = there || own;
  }
  if (!there) writer.add(in_quotes(name), value);
  return writer.take();
}

std::optional<std::string> repeat_key(const Request& request) {
  if (request.raw.empty() || !request.repeats) return std::nullopt;
  return std::string(url_of(request.endpoint)) + json_without_space(request.raw);
}

std::string_view raw_prompt(const Request& request, std::string& buffer) {
  const std::vector<JsonMember> members = json_members(request.raw);
  switch (request.endpoint) {
    case Endpoint::kChatCompletions:
      buffer.reserve(request.raw.size());
      buffer = json_member(members, "tools");
      buffer += json_member(members, "messages");
      return buffer;
    case Endpoint::kCompletions:
      return json_member(members, "prompt");
    case Endpoint::kEmbeddings:
      return json_member(members, "input");
    case Endpoint::kRerank:
      return json_member(members, "documents");
  }
  return {};
}

}  // namespace windrow::llm
