#include "llm/embedding_fields.h"

#include <fmt/format.h>

#include "llm/inputs_json.h"

namespace windrow::llm {

namespace json = boost::json;

Problem read_input(std::string_view name, const json::value& value, Draft& draft) {
  std::vector<Input>& inputs = draft.request.inputs;
  if (Problem problem = read_inputs(name, value, inputs)) return problem;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].text.empty() || !inputs[i].tokens.empty()) continue;
    const std::string param =
        value.is_string() ? std::string(name) : fmt::format("{}[{}]", name, i);
    return bad_value(param,
                     fmt::format("{} is an empty string; it must have text to embed", param));
  }
  return std::nullopt;
}

Problem read_dimensions(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kIntegerMax, draft.request.dimensions.emplace());
}

Problem read_encoding_format(std::string_view name, const json::value& value, Draft& draft) {
  std::string format;
  if (Problem problem = read_string(value, name, format)) return problem;
  if (format != "float" && format != "base64") {
    return bad_value(
        name, fmt::format("{} is \"{}\"; it must be \"float\" or \"base64\"", name, shown(format)));
  }
  draft.request.base64 = format == "base64";
  return std::nullopt;
}

}  // namespace windrow::llm
