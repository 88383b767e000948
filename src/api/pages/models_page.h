// The pages that list models: /v1/models in OpenAI's shape, and Ollama's GET /api/tags, POST
// /api/show and GET /api/ps. Pure, except that they read the state of models that are loaded and
// unloaded.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "api/calls/model_registry.h"
#include "llm/answer.h"

namespace windrow::api {

// {"object": "list", "data": [...]}
std::string models_page(std::span<const ServedModel> models);

// One model: besides OpenAI's members its context size, its endpoints, and for a model that is
// loaded and unloaded its state.
std::string model_page(const ServedModel& model);

// The model of this name; nullopt if there is none.
std::optional<std::string> model_page(std::span<const ServedModel> models, std::string_view name);

// A decoded part of a path: "a%2Fb" is "a/b". Text that is not encoded stays as it is.
std::string decode_part(std::string_view part);

// {"models": [{"name", "model", "modified_at", "size", "digest", "details"}]}
std::string ollama_tags(std::span<const ServedModel> models);

// Only the models in memory, with "expires_at" and "size_vram" besides the members above.
std::string ollama_ps(std::span<const ServedModel> models);

// The model that `body` names: {"details", "model_info", "capabilities", ...}. 400 or 413 for the
// body, 404 for an unknown model.
std::variant<std::string, llm::Failure> ollama_show(const ModelRegistry& registry,
                                                    std::string_view body);

}  // namespace windrow::api
