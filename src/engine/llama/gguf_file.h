// Reads the header of a GGUF file.
#pragma once

#include <optional>
#include <string>

#include "engine/llama/gguf_header.h"

namespace windrow::engine {

// Some milliseconds, and as much memory for that time as the vocabulary takes. Empty for a file
// that libggml cannot read; libllama says why when it is given it. Any thread.
std::optional<GgufHeader> read_gguf_header(const std::string& path);

}  // namespace windrow::engine
