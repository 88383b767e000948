// What scripted models of the tests of programs say, by what they are asked.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ensure.h"
#include "program/library/program_library.h"
#include "program/testing/program_rig.h"

namespace windrow::program::testing {

inline std::string shipped_source(std::string_view name) {
  const ShippedScript* script = find_shipped_program(name);
  ENSURE(script != nullptr, "there is no program {}", name);
  return std::string(script->source);
}

inline std::string text_at(const boost::json::value& value, std::string_view name) {
  return std::string(value.at(name).as_string());
}

// Text of the last user message of a call's prompt.
inline std::string question_of(const ScriptedModels::Call& call) {
  constexpr std::string_view kUser = "<|im_start|>user\n";
  const size_t begin = call.prompt_text.rfind(kUser);
  if (begin == std::string::npos) return "";
  const size_t from = begin + kUser.size();
  return call.prompt_text.substr(from, call.prompt_text.find("<|im_end|>", from) - from);
}

// The whole numbers in a text.
inline std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> numbers;
  bool within = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && !within) numbers.push_back(0);
    if (is_digit) numbers.back() = numbers.back() * 10 + (c - '0');
    within = is_digit;
  }
  return numbers;
}

}  // namespace windrow::program::testing
