// The embeddings of new facts.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string_view>

#include "memory/bank/memory.h"
#include "memory/models/memory_models.h"

namespace windrow::memory {

// Sets the embedding of each fact, in a few calls. Blocks. A text that is too long for the model is
// embedded by its beginning.
std::optional<llm::Failure> embed_facts(std::span<NewFact> facts, MemoryModels& models,
                                        std::string_view model, const ModelCaller& caller,
                                        const std::stop_token& unwanted);

}  // namespace windrow::memory
