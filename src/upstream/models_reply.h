// What a server says about itself when it is asked before a job: which models it has. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace windrow::upstream {

// The ids of `{"data":[{"id":...}]}`, as /v1/models answers; nothing where the text is something
// else: not every server has that route.
std::optional<std::vector<std::string>> models_of(std::string_view body);

// "it has llama3:8b, qwen3:4b and 7 more"; "it has no models".
std::string models_text(const std::vector<std::string>& models);

// Whether a server with these models has one of this name. Ollama's "llama3" is "llama3:latest".
bool has_model(const std::vector<std::string>& models, std::string_view name);

}  // namespace windrow::upstream
