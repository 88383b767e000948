// What --model says: a file, and the name by which requests call it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/model_choice.h"

namespace windrow::app {

// "NAME=PATH" or "PATH", where a path may be "sim:KEY=VALUE". What stands before the first "=" is a
// name unless a "/" is in it.
fleet::ModelChoice parse_model_choice(std::string_view text);

// Whether the choices can stand together: one without a name, or any number with different names.
// kInvalid when not, or when there is none.
Result<std::vector<fleet::ModelChoice>> parse_model_choices(const std::vector<std::string>& texts);

}  // namespace windrow::app
