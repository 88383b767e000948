#include "llm/inputs_json.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr std::string_view kForms =
    "a string, an array of strings, an array of token ids or an array of such arrays";

std::string place(std::string_view name, size_t index) {
  return fmt::format("{}[{}]", name, index);
}

Failure empty_array(std::string_view param) {
  return bad_value(param,
                   fmt::format("{} is an empty array; it must have at least one element", param));
}

Problem read_tokens(std::string_view param, const json::array& ids, std::vector<int32_t>& tokens) {
  if (ids.empty()) return empty_array(param);
  tokens.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    // Nearly all are as they should be, and there may be a hundred thousand.
    const int64_t* id = ids[i].if_int64();
    if (id != nullptr && *id >= 0 && *id <= kIntegerMax) {
      tokens.push_back(static_cast<int32_t>(*id));
    } else if (Problem problem =
                   read_int32(ids[i], place(param, i), 0, kIntegerMax, tokens.emplace_back())) {
      return problem;
    }
  }
  return std::nullopt;
}

}  // namespace

Problem check_input_count(std::string_view name, size_t count) {
  if (count <= kInputsMax) return std::nullopt;
  return bad_value(name, fmt::format("{} has {} elements; at most {} are accepted, so spread "
                                     "them over several requests",
                                     name, count, kInputsMax));
}

Problem read_inputs(std::string_view name, const json::value& value, std::vector<Input>& inputs) {
  if (const json::string* text = value.if_string()) {
    inputs.push_back(Input{.text = std::string(*text), .tokens = {}});
    return std::nullopt;
  }
  const json::array* array = value.if_array();
  if (array == nullptr) return wrong_kind(name, kForms, value);
  if (array->empty()) return empty_array(name);
  if (array->front().is_number()) return read_tokens(name, *array, inputs.emplace_back().tokens);

  if (Problem problem = check_input_count(name, array->size())) return problem;
  const bool texts = array->front().is_string();
  for (size_t i = 0; i < array->size(); ++i) {
    const json::value& element = (*array)[i];
    Input& input = inputs.emplace_back();
    if (texts && element.is_string()) {
      input.text = element.get_string();
    } else if (!texts && element.is_array()) {
      Problem problem = read_tokens(place(name, i), element.get_array(), input.tokens);
      if (problem) return problem;
    } else if (i == 0) {
      return wrong_kind(place(name, 0), "a string, a token id or an array of token ids", element);
    } else {
      return wrong_kind(place(name, i),
                        texts ? "a string, as the first element is"
                              : "an array of token ids, as the first element is",
                        element);
    }
  }
  return std::nullopt;
}

}  // namespace windrow::llm
