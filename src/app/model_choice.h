// What --model says: a file, and the name rows call it by; and what other settings say of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/host/embedding_runner.h"
#include "engine/llama/llama_adapters.h"

namespace windrow::app {

struct ModelChoice {
  std::string name;  // empty: it answers whatever model a row names
  std::string path;

  // model_options.h
  std::string chat_template;                      // empty: the model's own
  std::optional<std::string> chat_template_text;  // template_file.h: it came from a pipe
  std::optional<engine::Pooling> pooling;         // absent: the model's own
  std::vector<engine::AdapterChoice> adapters;

  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

// "NAME=PATH" or "PATH", where a path may be "sim:KEY=VALUE". What stands before the first "=" is a
// name unless a "/" is in it.
ModelChoice parse_model_choice(std::string_view text);

// Whether the choices can stand together: one without a name, or any number with different names.
// kInvalid when not, or when there is none.
Result<std::vector<ModelChoice>> parse_model_choices(const std::vector<std::string>& texts);

}  // namespace windrow::app
