// What Ollama's clients ask a server of its models: GET /api/tags, POST /api/show, GET /api/ps.
// Pure, but for what a model's residence says at the moment.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/calls/model_registry.h"
#include "llm/answer.h"

namespace windrow::api {

// {"models": [{"name", "model", "modified_at", "size", "digest", "details"}]}
std::string ollama_tags(std::span<const ServedModel> models);

// Lists only the models in memory, with "expires_at" and "size_vram" beside the members above.
std::string ollama_ps(std::span<const ServedModel> models);

// Of the model that `body` names: {"details", "model_info", "capabilities", ...}.
std::variant<std::string, llm::Failure> ollama_show(const ModelRegistry& catalogue,
                                                    std::string_view body);

}  // namespace windrow::api
