// The settings that belong to one model: --chat-template, --lora, --pooling. Each is given as VALUE
// for every model, or as NAME=VALUE for the one that --model calls NAME, where it goes before the
// former. Adapters add up.
#pragma once

#include <string>
#include <vector>

#include "app/settings.h"
#include "base/result.h"
#include "fleet/model_choice.h"

namespace windrow::app {

// Sets them in every choice. kInvalid for values that mean nothing; files are not looked at.
Result<void> add_model_options(std::vector<fleet::ModelChoice>& choices, const Settings& settings);

}  // namespace windrow::app
