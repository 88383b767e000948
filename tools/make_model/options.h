// The command line of make_model.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/result.h"
#include "make_model/families.h"

namespace windrow::make_model {

struct Options {
  bool help = false;  // then nothing else is set
  ModelSpec spec;
  std::filesystem::path output;
};

std::string_view help_text();

// `arguments` without the program's name. Reads the file that --template names. Errors: kInvalid,
// naming the argument at fault; kIo when the template cannot be read.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace windrow::make_model
