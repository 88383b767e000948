// The words of batched decoding.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace windrow::engine {

// An entry of the model's vocabulary.
using Token = int32_t;

// A place in a context, from 0.
using Position = int32_t;

// One request inside the engine, from submission to its answer. Never used twice.
using RowId = Id<struct RowTag>;

// One of the few sequences a model's memory can tell apart. Reused from row to row.
using SequenceId = Id<struct SequenceTag, int32_t>;

}  // namespace windrow::engine
