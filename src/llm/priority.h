// Priority: who waits for an answer. What is more urgent goes first, within bounds, wherever
// requests or their parts stand in line: dispatch/request_queue.h,
// engine/schedule/batch_scheduler.h, engine/embed/embedding_batch.h.
#pragma once

#include <cstdint>

namespace windrow::llm {

// Smaller values are more urgent.
enum class Priority : uint8_t { kInteractive, kNormal, kBatch };

}  // namespace windrow::llm
