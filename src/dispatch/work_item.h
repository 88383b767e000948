// WorkItem: a request as policies see it: what it costs and what it belongs to, not its content.
// A value; any thread.
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
using CallId = Id<struct CallTag>;  // one attempt at one item, or at several packed together
using UpstreamId = Id<struct UpstreamTag, uint32_t>;  // counted from 0

// More urgent ones go first, within bounds (request_queue.h).
using llm::Priority;

struct WorkItem {
  ItemId id;
  int64_t tokens = 1;  // about what it costs: prompt and answer
  int32_t rows = 1;    // texts or answers that a model computes beside each other

  uint64_t lane = 0;   // items of one lane run one after the other, in order; 0: no lane
  uint64_t group = 0;  // items of one group share a prefix; 0: no group
  uint64_t pack = 0;   // items with the same value may share a call; 0: a call of its own

  // Tenants of one priority are served alike, by their weights (queueing/fair_queue.h). 0: no key,
  // a tenant like any other.
  uint64_t tenant = 0;
  int32_t weight = 1;

  // Parts of one tenant, such as a program, a memory bank or a session, are served alike within
  // what the tenant gets, so a tenant gains nothing by having many. 0: a part like any other.
  uint64_t part = 0;

  // Upstreams that can take it: bit i for upstream i. 0: all. The same for items of one `pack`.
  uint64_t upstreams = 0;

  // Upstreams that refused it for load so far, in the same way; 0: none. It is queued behind items
  // that were not refused (request_queue.h), and prefers other upstreams.
  uint64_t refused_by = 0;

  Priority priority = Priority::kBatch;
  std::optional<TimePoint> deadline;   // an item that was not sent by then is not sent
  std::optional<Hash128> same_answer;  // items with equal ones get one answer

  // It is sent at most so often, at least once; absent: DispatchOptions::attempts_max counts.
  // Unlike there, a refusal for load and a server that was not reached are attempts too, so a
  // client that wants one attempt hears of its end at once. It travels alone then: it is not
  // packed, and does not share the call of an equal item.
  std::optional<int32_t> attempts_max;

  bool may_go_to(UpstreamId upstream) const {
    return upstreams == 0 || upstream.value() >= 64 || (upstreams >> upstream.value() & 1U) != 0;
  }
  bool was_refused_by(UpstreamId upstream) const { return (refused_by & bit_of(upstream)) != 0; }

  // The last bit stands for all upstreams from 63 on.
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
// is asked, where asking again brings the same answer (llm::question_of). Tenant, priority,
// deadline and lane are the caller's to add. Any thread.
WorkItem request_item(const llm::Request& request, size_t body_bytes,
                      const std::optional<Hash128>& question = std::nullopt);

// WorkItem::tenant of a key of this name; 0: it has none.
uint64_t tenant_id(std::string_view key);

}  // namespace windrow::dispatch
