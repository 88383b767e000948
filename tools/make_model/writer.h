// Writes a model file. Tensors are drawn, converted and written a piece at a time, so memory does
// not grow with the model.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "make_model/families.h"

namespace windrow::make_model {

// The same spec gives the same bytes. `path` appears when it is whole, replacing what was there.
// Errors: kInvalid from check(); kIo when the file cannot be written, naming it.
Result<void> write_model(const ModelSpec& spec, const std::filesystem::path& path);

}  // namespace windrow::make_model
