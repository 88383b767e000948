// Whether a file can be a model at all: seen in an instant, before anything else is opened.
#pragma once

#include <string>

#include "base/result.h"

namespace windrow::app {

// kNotFound when there is none; kInvalid for a folder (naming the models in it) and for what is no
// GGUF file (saying what it is instead where that can be told).
Result<void> check_model_file(const std::string& path);

}  // namespace windrow::app
