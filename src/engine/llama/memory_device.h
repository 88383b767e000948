// Which device's memory a model fills. Pure, so that it can be tried for machines one does not
// have.
#pragma once

#include <cstddef>
#include <span>

#include "engine/llama/llama_library.h"
#include "engine/llama/llama_model.h"

namespace windrow::engine {

// The place in `devices`, of which one is a CPU, of the device that holds layers and cells of a
// model loaded with these options. Where a model lies on a GPU and the CPU it is the GPU, whose
// memory ends first. `options.device` is a name as it stands in `devices`, or empty.
size_t memory_device(std::span<const Device> devices, const LlamaModelOptions& options);

}  // namespace windrow::engine
