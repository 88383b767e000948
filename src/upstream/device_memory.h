// How much memory of its device a server uses, where it tells. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace windrow::upstream {

// Of the models that are loaded, from the body of Ollama's /api/ps; 0 for anything else.
uint64_t device_bytes_of(std::string_view loaded_models);

}  // namespace windrow::upstream
