#include "llm/rerank_fields.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "llm/inputs_json.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

// A string, or {"text": ...}.
Problem read_document(const std::string& param, const json::value& value, std::string& text) {
  const json::object* object = value.if_object();
  if (object == nullptr && !value.is_string()) {
    return wrong_kind(param, "a string or an object with a text", value);
  }
  if (object == nullptr) return read_string(value, param, text);
  bool has_text = false;
  for (const auto& [key, member] : *object) {
    if (member.is_null()) continue;
    const std::string place = fmt::format("{}.{}", param, shown(key));
    if (key != "text") {
      return unsupported(place, fmt::format("{} is not supported; a document has a text", place));
    }
    if (Problem problem = read_string(member, place, text)) return problem;
    has_text = true;
  }
  if (has_text) return std::nullopt;
  return bad_value(
      param, fmt::format("{} has no text; it must be a string or {{\"text\": \"...\"}}", param));
}

}  // namespace

Problem read_query(std::string_view name, const json::value& value, Draft& draft) {
  return read_filled_string(value, name, draft.request.query);
}

Problem read_documents(std::string_view name, const json::value& value, Draft& draft) {
  const json::array* documents = value.if_array();
  if (documents == nullptr || documents->empty()) {
    return wrong_kind(name, "an array of at least one string or {\"text\": \"...\"}", value);
  }
  if (Problem problem = check_input_count(name, documents->size())) return problem;
  for (size_t i = 0; i < documents->size(); ++i) {
    std::string& text = draft.request.inputs.emplace_back().text;
    Problem problem = read_document(fmt::format("{}[{}]", name, i), (*documents)[i], text);
    if (problem) return problem;
  }
  return std::nullopt;
}

Problem read_top_n(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kIntegerMax, draft.request.results_max.emplace());
}

Problem read_return_documents(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.return_documents);
}

}  // namespace windrow::llm
