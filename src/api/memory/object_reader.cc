#include "api/memory/object_reader.h"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "json/values.h"

namespace windrow::api {

namespace json = boost::json;

llm::Failure unprocessable(std::string_view path, std::string message) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 422,
          .code = "invalid_value",
          .message = std::move(message),
          .param = std::string(path)};
}

ObjectReader::ObjectReader(const json::object& object, std::string path, llm::Problem& problem)
    : object_(object), path_(std::move(path)), problem_(problem) {}

std::string ObjectReader::path_of(std::string_view name) const {
  return fmt::format("{}.{}", path_, name);
}

void ObjectReader::fail(std::string_view name, std::string message) {
  if (!problem_) problem_ = unprocessable(path_of(name), std::move(message));
}

void ObjectReader::wrong(std::string_view name, std::string_view wanted, const json::value& got) {
  fail(name, fmt::format("{} must be {}, not {}", name, wanted, kind_name(got)));
}

const json::value* ObjectReader::value(std::string_view name) const {
  const json::value* found = object_.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const json::array* ObjectReader::list(std::string_view name) {
  const json::value* found = value(name);
  if (found == nullptr) return nullptr;
  if (!found->is_array()) wrong(name, "a list", *found);
  return found->if_array();
}

const json::object* ObjectReader::object(std::string_view name) {
  const json::value* found = value(name);
  if (found == nullptr) return nullptr;
  if (!found->is_object()) wrong(name, "an object", *found);
  return found->if_object();
}

std::optional<std::string> ObjectReader::text(std::string_view name) {
  const json::value* found = value(name);
  if (found == nullptr) return std::nullopt;
  if (const json::string* text = found->if_string()) return std::string(*text);
  wrong(name, "a string", *found);
  return std::nullopt;
}

std::string ObjectReader::required_text(std::string_view name) {
  if (value(name) == nullptr) fail(name, fmt::format("{} is missing; it must be a string", name));
  return text(name).value_or("");
}

std::optional<bool> ObjectReader::flag(std::string_view name) {
  const json::value* found = value(name);
  if (found == nullptr) return std::nullopt;
  if (const bool* flag = found->if_bool()) return *flag;
  wrong(name, "true or false", *found);
  return std::nullopt;
}

std::optional<int64_t> ObjectReader::number(std::string_view name, int64_t min, int64_t max) {
  const json::value* found = value(name);
  if (found == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = found->is_number() ? found->to_number<int64_t>(error) : 0;
  if (!found->is_number() || error) {
    wrong(name, fmt::format("a whole number from {} to {}", min, max), *found);
    return std::nullopt;
  }
  if (number >= min && number <= max) return number;
  fail(name, fmt::format("{} is {}; it must be from {} to {}", name, number, min, max));
  return std::nullopt;
}

std::optional<double> ObjectReader::real(std::string_view name) {
  const json::value* found = value(name);
  if (found == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = found->is_number() ? found->to_number<double>(error) : 0;
  if (found->is_number() && !error) return number;
  wrong(name, "a number", *found);
  return std::nullopt;
}

std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view name) {
  const json::array* found = list(name);
  if (found == nullptr) return std::nullopt;
  return read_strings(*found, path_of(name), problem_);
}

std::map<std::string, std::string> ObjectReader::text_map(std::string_view name) {
  std::map<std::string, std::string> map;
  const json::object* found = object(name);
  if (found == nullptr) return map;
  for (const auto& [key, value] : *found) {
    if (const json::string* text = value.if_string()) {
      map.emplace(key, *text);
    } else {
      wrong(fmt::format("{}.{}", name, std::string_view(key)), "a string", value);
    }
  }
  return map;
}

std::vector<std::string> read_strings(const json::array& list, std::string_view path,
                                      llm::Problem& problem) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < list.size(); ++i) {
    if (const json::string* text = list[i].if_string()) {
      texts.emplace_back(*text);
    } else if (!problem) {
      problem = unprocessable(
          fmt::format("{}[{}]", path, i),
          fmt::format("each element must be a string; this one is {}", kind_name(list[i])));
    }
  }
  return texts;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lowered;
}

}  // namespace windrow::api
