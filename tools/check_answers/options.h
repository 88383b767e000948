// The command line of check_answers.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace windrow::check_answers {

struct Options {
  bool help = false;  // then nothing else counts
  bool json = false;
  size_t wrong_max = 0;       // how many wrong answers to show
  std::optional<double> min;  // percent that every task must reach
  std::filesystem::path results;
  std::filesystem::path key;
};

std::string_view help_text();

// `arguments` without the program's name. kInvalid, naming the argument at fault.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace windrow::check_answers
