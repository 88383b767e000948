// The basic types of batched decoding.
#pragma once

#include <cstdint>

#include "base/id.h"

namespace windrow::engine {

// An entry of the model's vocabulary.
using Token = int32_t;

// The index of a token in its sequence, from 0.
using Position = int32_t;

// One row of a request, from submission to its answer. Never used twice.
using RowId = Id<struct RowTag>;

// A prefix that is held (llm::PrefixHold). Never used twice.
using HoldId = Id<struct HoldTag>;

// One of the few sequences that a model's memory distinguishes. Reused from row to row.
using SequenceId = Id<struct SequenceTag, int32_t>;

}  // namespace windrow::engine
