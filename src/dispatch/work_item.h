// WorkItem: a request as policies see it: what it costs and what it belongs to, never what it says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"
#include "llm/priority.h"
#include "llm/request.h"

namespace windrow::dispatch {

using ItemId = Id<struct ItemTag>;
using CallId = Id<struct CallTag>;  // one sending of one item, or of several packed together
using UpstreamId = Id<struct UpstreamTag, uint32_t>;  // counted from 0

// More urgent ones go first, within bounds (request_queue.h).
using llm::Priority;

struct WorkItem {
  ItemId id;
  int64_t tokens = 1;  // about what it costs: of its prompt and of its answer
  int32_t rows = 1;    // texts, or answers to prompts: what a model computes beside each other

  uint64_t lane = 0;   // items of one lane go one after the other, in order; 0: of none
  uint64_t group = 0;  // items of one group begin alike; 0: of none
  uint64_t pack = 0;   // items of one kind may go in one call; 0: goes alone

  // Tenants of one priority are served alike, by their weights (queueing/fair_queue.h). 0: no key,
  // a tenant like any other.
  uint64_t tenant = 0;
  int32_t weight = 1;

  // Where it may go: bit i for upstream i. 0: anywhere. The same for items of one kind.
  uint64_t upstreams = 0;

  // Who refused it for load so far, in the same way; 0: nobody. It goes behind those whom nobody
  // did (request_queue.h), and rather to others.
  uint64_t refused_by = 0;

  Priority priority = Priority::kBatch;
  std::optional<TimePoint> deadline;   // what has not been sent by then is not sent
  std::optional<Hash128> same_answer;  // items with equal ones get one answer

  bool may_go_to(UpstreamId upstream) const {
    return upstreams == 0 || upstream.value() >= 64 || (upstreams >> upstream.value() & 1U) != 0;
  }
  bool was_refused_by(UpstreamId upstream) const { return (refused_by & bit_of(upstream)) != 0; }

  // The last one stands for all that come after it.
  static uint64_t bit_of(UpstreamId upstream) {
    return uint64_t{1} << std::min(upstream.value(), 63U);
  }

  // The slots that it is worth: a third of its rows, rounded up. Rows end one after the other, and
  // on average a third of a call's rows is still computed: from 2 to 128 rows with exponential
  // lengths it is one over a harmonic number, 0.67 to 0.18.
  int32_t slots() const { return std::max((rows + 2) / 3, 1); }

  friend bool operator==(const WorkItem&, const WorkItem&) = default;
};

// The item of a request: what its prompt and its answers cost, about; which items it may share a
// call with; which other items its answer is also for. `body_bytes`: of its JSON. `question`: what
// is asked, where asking again brings the same answer (llm/question.h). Tenant, priority, deadline
// and lane are the caller's to add. Any thread.
WorkItem request_item(const llm::Request& request, size_t body_bytes,
                      const std::optional<Hash128>& question = std::nullopt);

// WorkItem::tenant of a key of this name; 0: it has none.
uint64_t tenant_id(std::string_view key);

}  // namespace windrow::dispatch
