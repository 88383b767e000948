#include "table/answer_cells.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <boost/json/array.hpp>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "base/base64_decoder.h"
#include "json/parse.h"
#include "json/values.h"

namespace windrow::table {

namespace json = boost::json;

namespace {

static_assert(std::endian::native == std::endian::little, "vectors are copied as they are");

const json::array* array_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_array() : nullptr;
}

const json::object* body_of(const json::object& log_line) {
  const json::object* response = object_in(log_line, "response");
  return response != nullptr ? object_in(*response, "body") : nullptr;
}

std::vector<float> floats_of(const json::value& embedding) {
  std::vector<float> floats;
  if (const json::array* numbers = embedding.if_array()) {
    floats.reserve(numbers->size());
    for (const json::value& number : *numbers) {
      if (!number.is_number()) return {};
      floats.push_back(number.to_number<float>());
    }
  } else if (const json::string* text = embedding.if_string()) {
    std::string bytes;
    Base64Decoder decoder;
    if (!decoder.decode(*text, bytes) || !decoder.is_whole() || bytes.size() % sizeof(float) != 0)
      return {};
    floats.resize(bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  }
  return floats;
}

json::value numbers_of(const json::object& item) {
  const json::value* embedding = item.if_contains("embedding");
  json::array numbers;
  if (embedding == nullptr) return numbers;
  for (const float number : floats_of(*embedding)) {
    // The number with the fewest digits that is the same float, not the double that the float is.
    std::array<char, 64> text = {};
    const char* const end = std::to_chars(text.begin(), text.end(), number).ptr;
    double shortest = 0;
    std::from_chars(text.data(), end, shortest);
    numbers.emplace_back(shortest);
  }
  return numbers;
}

// One of several values as itself, more as an array.
json::value one_or_all(json::array values) {
  if (values.empty()) return nullptr;
  if (values.size() == 1) return std::move(values.front());
  return values;
}

json::value text_of_choice(const json::object& choice) {
  if (const json::value* text = choice.if_contains("text")) return *text;
  const json::object* message = object_in(choice, "message");
  if (message == nullptr) return nullptr;
  const json::value* content = message->if_contains("content");
  if (content != nullptr && !content->is_null()) return *content;
  const json::value* calls = message->if_contains("tool_calls");
  return calls != nullptr ? *calls : json::value(nullptr);
}

// The texts of an answer of /v1/messages, or of one output of /v1/responses.
void append_parts(const json::object& message, std::string& text) {
  const json::array* parts = array_in(message, "content");
  if (parts == nullptr) return;
  for (const json::value& part : *parts)
    if (const json::object* object = part.if_object()) text += text_in(*object, "text");
}

void read_choices(const json::array& choices, bool structured, AnswerCells& cells) {
  json::array texts;
  for (const json::value& choice : choices)
    if (const json::object* object = choice.if_object()) texts.push_back(text_of_choice(*object));
  const json::object* first = choices.empty() ? nullptr : choices.front().if_object();
  if (first != nullptr) {
    cells.finish_reason = text_in(*first, "finish_reason");
    structured = structured || first->contains("structure");
  }
  cells.answer = one_or_all(std::move(texts));
  if (!structured || !cells.answer.is_string()) return;
  auto parsed = parse_json(cells.answer.get_string());
  auto* value = std::get_if<json::value>(&parsed);
  if (value != nullptr && value->is_object()) cells.members = std::move(value->get_object());
}

void read_body(const json::object& body, bool structured, AnswerCells& cells) {
  if (const json::array* choices = array_in(body, "choices"))
    return read_choices(*choices, structured, cells);
  if (const json::array* data = array_in(body, "data")) {
    json::array vectors;
    for (const json::value& item : *data)
      if (const json::object* object = item.if_object()) vectors.push_back(numbers_of(*object));
    cells.answer = one_or_all(std::move(vectors));
    return;
  }
  if (const json::array* output = array_in(body, "output")) {
    std::string text;
    for (const json::value& item : *output)
      if (const json::object* object = item.if_object()) append_parts(*object, text);
    cells.answer = json::value(text);
    cells.finish_reason = text_in(body, "status");
    return;
  }
  if (array_in(body, "content") != nullptr) {
    std::string text;
    append_parts(body, text);
    cells.answer = json::value(text);
    cells.finish_reason = text_in(body, "stop_reason");
    return;
  }
  for (const std::string_view name : {"results", "result"}) {
    if (const json::value* result = body.if_contains(name)) {
      cells.answer = *result;
      return;
    }
  }
  cells.answer = body;
}

}  // namespace

AnswerCells read_answer(const json::object& log_line, bool structured) {
  AnswerCells cells;
  if (const json::object* error = object_in(log_line, "error")) {
    cells.error = fmt::format("{}: {}", text_in(*error, "code"), text_in(*error, "message"));
    return cells;
  }
  if (const json::object* body = body_of(log_line)) read_body(*body, structured, cells);
  return cells;
}

std::vector<float> read_vector(const json::object& log_line) {
  const json::object* body = body_of(log_line);
  const json::array* data = body != nullptr ? array_in(*body, "data") : nullptr;
  if (data == nullptr || data->size() != 1) return {};
  const json::object* item = data->front().if_object();
  const json::value* embedding = item != nullptr ? item->if_contains("embedding") : nullptr;
  return embedding != nullptr ? floats_of(*embedding) : std::vector<float>();
}

}  // namespace windrow::table
