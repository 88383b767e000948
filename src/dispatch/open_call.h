// OpenCall: one call of a backend that is out, for one item or for several that are packed: what is
// sent, by which tokens it is cancelled, and what its items get of its outcome.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "dispatch/dispatch_policy.h"
#include "dispatch/shared_listener.h"
#include "llm/answer.h"
#include "llm/backend.h"

namespace windrow::dispatch {

// What the policy needs to know of an outcome. Pure.
CallEnd call_end_of(const llm::Outcome& outcome);

// What an answer or a failure has used, as far as it is known.
const llm::Usage& usage_of(const llm::Outcome& outcome);

// The tokens of llm::BackendCall, from the side that stops them.
struct CallStops {
  std::stop_source withdrawn;
  std::stop_source unwanted;
};

struct OpenCall {
  CallId id;
  std::vector<std::shared_ptr<const llm::Request>> requests;  // in the order of Send::items
  std::shared_ptr<SharedListener> listener;                   // null: the answer is not streamed
  std::vector<int64_t> sizes;  // PackedRequest::sizes, once it is packed

  // The one request, or all of them as one; the latter sets `sizes`.
  std::shared_ptr<const llm::Request> pack();

  // What each item gets, in the order of `requests`. Where the parts of a packed answer could not
  // be told apart, `end` says so afterwards.
  std::vector<llm::Outcome> unpack(llm::Outcome outcome, CallEnd& end) const;
};

}  // namespace windrow::dispatch
