// Priority: how urgent a request is. More urgent requests go first, within bounds, in every queue:
// dispatch/request_queue.h, engine/schedule/batch_scheduler.h, engine/embed/embedding_batch.h.
#pragma once

#include <cstdint>

namespace windrow::llm {

// Smaller values are more urgent.
enum class Priority : uint8_t { kInteractive, kNormal, kBatch };

}  // namespace windrow::llm
