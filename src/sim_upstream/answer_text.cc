#include "sim_upstream/answer_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/hash.h"
#include "base/utf8.h"

namespace windrow::sim_upstream {

namespace json = boost::json;

namespace {

constexpr size_t kEchoBytesMax = 400;

constexpr std::array<std::string_view, 32> kWords = {
    "the",   "river", "runs",  "past", "a",    "stone", "house", "where", "nobody", "has",  "lived",
    "since", "green", "light", "came", "over", "hills", "and",   "every", "window", "was",  "open",
    "to",    "wind",  "rows",  "of",   "tall", "grass", "bend",  "then",  "rise",   "again"};

Random dice_of(const SimOptions& options, std::string_view prompt, int32_t choice) {
  return Random(hash64(prompt, options.seed) + static_cast<uint64_t>(choice));
}

std::string words(Random random, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords.at(random.below(kWords.size()));
  }
  return text;
}

// The last line that is not blank.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  text.remove_prefix(std::min(text.rfind('\n') + 1, text.size()));
  if (text.size() > kEchoBytesMax) text.remove_prefix(text.size() - kEchoBytesMax);
  return utf8_repair(text);  // the cut may go through a character
}

constexpr int kDepthMax = 24;
constexpr int64_t kItemsMax = 64;

// Makes one example of a schema.
class Example {
 public:
  Example(const json::value& root, Random& random) : root_(root), random_(random) {}

  json::value of(const json::value& schema, int depth) {
    const json::object* object = schema.if_object();
    if (object == nullptr || depth > kDepthMax) return nullptr;
    if (const json::value* value = object->if_contains("const")) return *value;
    for (const std::string_view name : {"enum", "anyOf", "oneOf"}) {
      const json::value* list = object->if_contains(name);
      if (list == nullptr || !list->is_array() || list->get_array().empty()) continue;
      const json::array& values = list->get_array();
      const json::value& chosen = values[random_.below(values.size())];
      return name == "enum" ? chosen : of(chosen, depth + 1);
    }
    if (const json::value* ref = object->if_contains("$ref"); ref != nullptr && ref->is_string())
      return of_ref(ref->get_string(), depth);
    return of_type(*object, depth);
  }

 private:
  json::value of_ref(std::string_view ref, int depth) {
    boost::system::error_code error;
    if (!ref.starts_with('#')) return nullptr;
    const json::value* schema = root_.find_pointer(ref.substr(1), error);
    return schema == nullptr ? json::value() : of(*schema, depth + 1);
  }

  json::value of_type(const json::object& schema, int depth) {
    const json::value* type = schema.if_contains("type");
    if (type != nullptr && type->is_array() && !type->get_array().empty())
      type = &type->get_array().front();
    const std::string_view name = type != nullptr && type->is_string()
                                      ? std::string_view(type->get_string())
                                  : schema.contains("properties") ? "object"
                                                                  : "";
    if (name == "object") return of_object(schema, depth);
    if (name == "array") return of_array(schema, depth);
    if (name == "string") return json::string(fmt::format("text {}", random_.below(1000)));
    if (name == "boolean") return random_.chance(0.5);
    if (name == "integer") return std::llround(std::ceil(minimum(schema))) + random_.between(0, 9);
    if (name == "number") return minimum(schema) + random_.unit();
    return nullptr;
  }

  json::value of_object(const json::object& schema, int depth) {
    json::object result;
    const json::value* properties = schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object()) return result;
    for (const auto& [name, property] : properties->get_object())
      result[name] = of(property, depth + 1);
    return result;
  }

  json::value of_array(const json::object& schema, int depth) {
    json::array result;
    const json::value* items = schema.if_contains("items");
    const json::value* count = schema.if_contains("minItems");
    boost::system::error_code error;
    const int64_t wanted = count == nullptr ? 1 : count->to_number<int64_t>(error);
    if (items == nullptr || error) return result;
    for (int64_t i = 0; i < std::min(wanted, kItemsMax); ++i)
      result.push_back(of(*items, depth + 1));
    return result;
  }

  static double minimum(const json::object& schema) {
    boost::system::error_code error;
    const json::value* value = schema.if_contains("minimum");
    const double number = value == nullptr ? 0 : value->to_number<double>(error);
    return error || std::abs(number) > 1e15 ? 0 : number;
  }

  const json::value& root_;
  Random& random_;
};

std::string object_text(const ModelCall& call, Random random) {
  if (!call.schema.is_null()) return json::serialize(example_of_schema(call.schema, random));
  return json::serialize(json::object{{"answer", words(random, 4)},
                                      {"score", static_cast<double>(random.below(101)) / 100},
                                      {"question", last_line(call.question)}});
}

}  // namespace

int64_t draw_answer_tokens(const SimOptions& options, std::string_view prompt, int32_t choice) {
  const auto mean = static_cast<double>(options.answer_tokens);
  const double position = 2 * dice_of(options, prompt, choice).unit() - 1;
  return std::max<int64_t>(1, std::llround(mean * (1 + options.answer_spread * position)));
}

std::string answer_text(const SimOptions& options, const ModelCall& call, size_t prompt,
                        int32_t choice, int64_t tokens) {
  const std::string& text = call.prompts.at(prompt).text;
  if (options.answer == AnswerKind::kEcho) {
    const std::vector<int32_t>& ids = call.prompts.at(prompt).ids;
    if (call.endpoint == Endpoint::kChat) return last_line(call.question);
    return ids.empty() ? last_line(text) : last_ids(ids);
  }
  const Random random = dice_of(options, text, choice);
  if (options.answer == AnswerKind::kJson || call.wants_json) return object_text(call, random);
  return words(random, tokens);
}

std::string_view answer_word(uint64_t number) {
  return kWords.at(number % kWords.size());
}

std::string last_ids(std::span<const int32_t> ids) {
  constexpr size_t kIdsMax = 32;
  return fmt::format("{}", fmt::join(ids.last(std::min(ids.size(), kIdsMax)), " "));
}

std::string in_another_shape(const std::string& json) {
  return json.starts_with('{') ? "[" + json + "]" : "{\"answer\":" + json + "}";
}

std::vector<float> embedding_of(std::string_view text, int64_t dimensions) {
  Random random(hash64(text));
  std::vector<float> values(static_cast<size_t>(dimensions));
  double squares = 0;
  for (float& value : values) {
    value = static_cast<float>(2 * random.unit() - 1);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  for (float& value : values)
    value = static_cast<float>(static_cast<double>(value) / std::sqrt(squares));
  return values;
}

json::value example_of_schema(const json::value& schema, Random& random) {
  return Example(schema, random).of(schema, 0);
}

}  // namespace windrow::sim_upstream
