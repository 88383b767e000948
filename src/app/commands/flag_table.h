// The flags of a command as a table: the one source of its command line (command_line.cc), its help
// (help.cc) and, made from the help, the manual page and the shell completions (packaging/). Flags
// that may also stand in a configuration file are settings (settings.h). Pure.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace windrow::app {

// One flag of the command whose words become a Target.
template <class Target>
struct Flag {
  std::string_view group = {};       // heading in the help; empty: none
  std::string_view name;             // "slots": --slots
  std::string_view short_name = {};  // "-o"
  std::string_view value_name = {};  // of its value in the help; empty for a switch
  std::string_view help;             // one line, lower case, no full stop
  bool repeatable = false;           // each time counts; else the last one
  std::string_view excludes = {};    // another flag that cannot be given with it

  // `text` is the value, empty for a switch. kInvalid for a value that the flag does not take.
  Result<void> (*set)(std::string_view text, Target& target) = nullptr;
};

// kInvalid, with the text and what is accepted.
inline Error refuse_value(std::string_view text, std::string_view accepted) {
  return {ErrorKind::kInvalid, fmt::format("\"{}\" is not {}", text, accepted)};
}

// kInvalid for what is no number of this type, or not in the range.
template <class Number>
Result<Number> parse_number(std::string_view text, Number value_min, Number value_max) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Written so that NaN fails too.
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= value_min && value <= value_max)) {
    return refuse_value(text, fmt::format("a {} from {} to {}",
                                          std::is_integral_v<Number> ? "whole number" : "number",
                                          value_min, value_max));
  }
  return value;
}

template <class Number>
Result<void> set_number(std::string_view text, Number value_min, Number value_max, Number& target) {
  const Result<Number> value = parse_number(text, value_min, value_max);
  if (!value) return value.error();
  target = *value;
  return {};
}

// Values of Flag::set. kField is a member of Target, or a function that returns a part of it.

template <auto kField, class Target>
Result<void> set_switch(std::string_view, Target& target) {
  std::invoke(kField, target) = true;
  return {};
}

template <auto kField, class Target>
Result<void> set_text(std::string_view text, Target& target) {
  std::invoke(kField, target) = text;
  return {};
}

template <auto kField, auto kMin, auto kMax, class Target>
Result<void> set_number_in(std::string_view text, Target& target) {
  using Number = std::remove_reference_t<decltype(std::invoke(kField, target))>;
  return set_number<Number>(text, kMin, kMax, std::invoke(kField, target));
}

}  // namespace windrow::app
