// Settings that belong to one model. --model names a file, and the name by which requests call it;
// --chat-template, --lora and --pooling are given as VALUE for every model, or as NAME=VALUE for
// the one that --model calls NAME, where that goes before the former. Adapters add up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/settings/settings.h"
#include "base/result.h"
#include "fleet/model_choice.h"

namespace windrow::app {

// "NAME=PATH" or "PATH", where a path may be "sim:KEY=VALUE". What stands before the first "=" is a
// name unless a "/" is in it.
fleet::ModelChoice parse_model_choice(std::string_view text);

// Whether the choices can stand together: one without a name, or any number with different names.
// kInvalid when not, or when there is none.
Result<std::vector<fleet::ModelChoice>> parse_model_choices(const std::vector<std::string>& texts);

// Sets them in every choice. kInvalid for values that mean nothing; files are not looked at.
Result<void> add_model_options(std::vector<fleet::ModelChoice>& choices, const Settings& settings);

// kNotFound when there is none; kInvalid for a folder (naming the models in it) and for what is no
// GGUF file (saying what it is instead where that can be told).
Result<void> check_model_file(const std::string& path);

}  // namespace windrow::app
