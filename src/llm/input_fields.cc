// Fields that hold texts: prompts of completions, inputs of embeddings, documents of rerank; and
// what else only these endpoints have.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "llm/request_fields.h"

namespace windrow::llm {

namespace json = boost::json;

namespace {

constexpr size_t kInputsMax = 2048;  // as many as OpenAI takes

// Every choice of every prompt is there at once when the answer is written.
constexpr int64_t kAnswersMax = 4096;

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

Problem check_input_count(std::string_view name, size_t count) {
  if (count <= kInputsMax) return std::nullopt;
  return bad_value(name, fmt::format("{} has {} elements; at most {} are accepted, so spread "
                                     "them over several requests",
                                     name, count, kInputsMax));
}

// The four forms that OpenAI's `prompt` and `input` may have: a string, an array of strings, an
// array of token ids, or an array of such arrays.
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

Problem read_token_ids(std::string_view param, const json::value& value,
                       std::vector<int32_t>& tokens) {
  const json::array* ids = value.if_array();
  if (ids == nullptr) return wrong_kind(param, "an array of token ids", value);
  return read_tokens(param, *ids, tokens);
}

// --- completions ---

Problem read_prompt(std::string_view name, const json::value& value, Draft& draft) {
  return read_inputs(name, value, draft.request.inputs);
}

Problem read_echo(std::string_view name, const json::value& value, Draft& draft) {
  return read_bool(value, name, draft.request.echo);
}

Problem read_logprobs_count(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 0, kTopLogprobsMax, draft.request.logprobs_top.emplace());
}

Problem read_best_of(std::string_view name, const json::value& value, Draft& draft) {
  return read_int32(value, name, 1, kIntegerMax, draft.best_of.emplace());
}

Problem settle_completions(Draft& draft) {
  const Request& request = draft.request;
  if (draft.max_tokens == 0 && !request.echo && !request.prompt_logprobs_top) {
    return bad_value("max_tokens",
                     "max_tokens is 0, which scores a prompt and needs echo: true or "
                     "prompt_logprobs; without them it must be 1 or more");
  }
  const int64_t answers = int64_t{request.choices} * static_cast<int64_t>(request.inputs.size());
  if (answers > kAnswersMax) {
    return bad_value("n",
                     fmt::format("{} prompts with n {} make {} answers at once; at most {} "
                                 "are accepted, so spread them over several requests",
                                 request.inputs.size(), request.choices, answers, kAnswersMax));
  }
  if (draft.best_of && *draft.best_of != request.choices) {
    return unsupported(
        "best_of", fmt::format("best_of is {} and n is {}; they must be the same, because answers "
                               "are not ranked: ask for more with n",
                               *draft.best_of, request.choices));
  }
  return std::nullopt;
}

// --- embeddings ---

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

// --- rerank ---

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
