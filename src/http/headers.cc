#include "http/headers.h"

#include <algorithm>
#include <limits>

#include "base/ensure.h"

namespace windrow::http {
namespace {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trimmed_value(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

constexpr bool is_token_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

bool is_header_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_token_char);
}

bool is_header_value(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

bool list_has(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (same_ignoring_case(trimmed_value(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

Headers::Headers(std::initializer_list<Field> fields) {
  for (const Field& field : fields)
    add(field.name, field.value);
}

void Headers::add(std::string_view name, std::string_view value) {
  ENSURE(text_.size() + name.size() + value.size() <= std::numeric_limits<uint32_t>::max(),
         "headers are bounded long before this");
  fields_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()),
                     static_cast<uint32_t>(value.size())});
  text_.append(name).append(value);
}

void Headers::set(std::string_view name, std::string_view value) {
  Headers others;
  for (const Field field : *this) {
    if (!same_ignoring_case(field.name, name)) others.add(field.name, field.value);
  }
  others.add(name, value);
  *this = std::move(others);
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const Field field : *this) {
    if (same_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

Headers::Field Headers::operator[](size_t i) const {
  const Position& field = fields_[i];
  const std::string_view text = text_;
  return {text.substr(field.begin, field.name_bytes),
          text.substr(field.begin + field.name_bytes, field.value_bytes)};
}

void Headers::clear() {
  text_.clear();
  fields_.clear();
}

}  // namespace windrow::http
