#include "api/pages/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "api/pages/models_page.h"
#include "llm/field_values.h"

namespace windrow::api {
namespace {

std::string meant(std::string_view text) {
  std::string with_spaces(text);
  std::ranges::replace(with_spaces, '+', ' ');
  return decode_part(with_spaces);
}

llm::Failure wrong(std::string code, std::string message, std::string_view name) {
  return {.failure_class = llm::FailureClass::kRequest,
          .status = 400,
          .code = std::move(code),
          .message = std::move(message),
          .param = llm::shown(name)};
}

}  // namespace

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.size(), text.find('&'));
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (field.empty()) continue;
    const size_t sign = std::min(field.size(), field.find('='));
    fields_.emplace_back(meant(field.substr(0, sign)),
                         meant(field.substr(std::min(field.size(), sign + 1))));
  }
}

std::optional<std::string> Query::text(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (key == name) return value.empty() ? std::nullopt : std::optional(value);
  }
  return std::nullopt;
}

std::vector<std::string> Query::texts(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields_) {
    if (key == name && !value.empty()) values.push_back(value);
  }
  return values;
}

std::optional<llm::Failure> Query::only(std::initializer_list<std::string_view> names) const {
  for (const auto& [key, value] : fields_) {
    if (std::ranges::find(names, key) != names.end()) continue;
    return wrong("unknown_parameter",
                 fmt::format("\"{}\" is not among what this can be asked with: {}", llm::shown(key),
                             fmt::join(names, ", ")),
                 key);
  }
  return std::nullopt;
}

std::optional<llm::Failure> Query::number(std::string_view name, int64_t otherwise,
                                          int64_t& value) const {
  value = otherwise;
  const std::optional<std::string> given = text(name);
  if (!given) return std::nullopt;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), value);
  if (error == std::errc() && end == given->data() + given->size()) return std::nullopt;
  return wrong("invalid_value",
               fmt::format("{} is \"{}\"; it must be a number", name, llm::shown(*given)), name);
}

}  // namespace windrow::api
