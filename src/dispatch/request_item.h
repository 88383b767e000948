// What policies are told of a request. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "dispatch/work_item.h"
#include "llm/request.h"

namespace windrow::dispatch {

// About what its prompt and its answers cost, the items that may go in one call with it, and which
// other items its answer is also for. `body_bytes`: of its JSON. `question`: what is asked, where
// asking again brings the same answer (llm/question.h). Who sent it and how it is to be treated is
// the caller's to add.
WorkItem request_item(const llm::Request& request, size_t body_bytes,
                      const std::optional<Hash128>& question = std::nullopt);

// WorkItem::tenant of a key of this name; 0: it has none.
uint64_t tenant_id(std::string_view key);

}  // namespace windrow::dispatch
