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

// "NAME=PATH" or "PATH", where a path may be "sim:KEY=VALUE". The text before the first "=" is a
// name unless it contains a "/".
fleet::ModelChoice parse_model_choice(std::string_view text);

// Parses all of them. Errors: kInvalid when there is none, when one has no path, and unless there
// is one without a name or any number with different names.
Result<std::vector<fleet::ModelChoice>> parse_model_choices(const std::vector<std::string>& texts);

// Sets chat template, adapters and pooling of every choice. Errors: kInvalid for values without a
// meaning. Files are not opened.
Result<void> add_model_options(std::vector<fleet::ModelChoice>& choices, const Settings& settings);

// Parses --tokenizer: NAME=PATH each, with the chat template that --chat-template has for it.
// Errors: kInvalid for a text that is neither, a name given twice, a model to be downloaded, and
// where the models run in this process; those of check_model_file.
Result<std::vector<fleet::ModelChoice>> tokenizer_choices(const Settings& settings);

// Checks whether a file can be a model, by its first bytes. Errors: kNotFound when there is none;
// kInvalid for a folder (naming the models in it) and for a file that is no GGUF file (naming what
// it is, where that is known).
Result<void> check_model_file(const std::string& path);

}  // namespace windrow::app
