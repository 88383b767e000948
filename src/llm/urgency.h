// Urgency: who waits for an answer. What is more urgent goes first, within bounds, wherever
// requests or their parts stand in line: dispatch/lanes.h, engine/plan.h, engine/embedding_batch.h.
#pragma once

#include <cstdint>

namespace windrow::llm {

// Smaller values are more urgent.
enum class Urgency : uint8_t { kInteractive, kNormal, kBatch };

}  // namespace windrow::llm
