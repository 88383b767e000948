// SimulatedUpstream: the way of a stream, step by step, and what strikes it in its middle.
#include <algorithm>
#include <string>
#include <utility>

#include "sim_upstream/simulated_upstream.h"
#include "sim_upstream/stream_body.h"

namespace windrow::sim_upstream {

// A step of a stream has ended: tells its tokens. Whether the stream goes on; else it has left its
// slot.
bool SimulatedUpstream::stream_on(SimRequestId request) {
  Job& job = jobs_.at(request);
  if (!job.stream) begin_stream(request, job);
  const int64_t longest = job.longest_answer();
  const int64_t before = job.tokens_made;
  job.tokens_made = std::min(longest, before + options_.event_tokens);
  std::string events = job.stream->next(job.tokens_made - before);
  const int64_t middle = (longest + 1) / 2;
  if (job.strike && before < std::max<int64_t>(middle, 1) && job.tokens_made >= middle) {
    switch (job.strike->kind) {
      case FaultKind::kReset:
        break_stream(request, job, events.substr(0, events.size() / 2), Delivery::kBroken);
        return false;
      case FaultKind::kTruncated:
        break_stream(request, job, events.substr(0, events.size() / 2), Delivery::kLast);
        return false;
      case FaultKind::kStreamError:
        events += error_event("something went wrong inside", "server_error");
        break_stream(request, job, std::move(events), Delivery::kLast);
        return false;
      case FaultKind::kStreamGarbage:
        events += garbage_event();
        count_fault(FaultKind::kStreamGarbage);
        break;
      default:
        break;
    }
  }
  const bool silent = job.is_struck_by(FaultKind::kSlowBody) ||
                      (job.is_struck_by(FaultKind::kStall) && job.tokens_made >= middle);
  if (silent) {
    job.held_back += events;
  } else {
    tell(request, job, std::move(events), Delivery::kPart);
  }
  if (job.tokens_made < longest) return true;
  end_stream(request, job);
  return false;
}

void SimulatedUpstream::begin_stream(SimRequestId request, Job& job) {
  if (job.is_struck_by(FaultKind::kSwapped) && !job.answer_of_another) swap_answer(request);
  if (job.answer_of_another) count_fault(FaultKind::kSwapped);
  if (job.breaks_schema()) count_fault(FaultKind::kSchema);
  job.stream = stream_body(options_, job, facts_of(request));
}

void SimulatedUpstream::tell(SimRequestId request, Job& job, std::string events,
                             Delivery delivery) {
  SimReply reply{
      .content_type = "text/event-stream", .body = std::move(events), .delivery = delivery};
  if (!job.begun) add_limit_headers(reply);
  job.begun = true;
  if (delivery == Delivery::kPart) {
    if (!reply.body.empty()) push_part(request, std::move(reply));
    return;
  }
  count_answer(job);
  leave_slot(job);
  jobs_.erase(request);
  push(request, std::move(reply));
}

void SimulatedUpstream::break_stream(SimRequestId request, Job& job, std::string events,
                                     Delivery delivery) {
  count_fault(job.strike->kind);
  tell(request, job, std::move(events), delivery);
}

// All tokens are made; the slot is free.
void SimulatedUpstream::end_stream(SimRequestId request, Job& job) {
  const bool no_mark = job.is_struck_by(FaultKind::kNoDone);
  if (no_mark) count_fault(FaultKind::kNoDone);
  job.held_back += job.stream->end(!no_mark);
  finish(request);
}

// The end of a stream, or what a fault has kept of it.
void SimulatedUpstream::tell_held_back(SimRequestId request, Job& job) {
  std::string events = std::move(job.held_back);
  if (!job.is_struck_by(FaultKind::kSlowBody))
    return tell(request, job, std::move(events), Delivery::kLast);
  SimReply reply{.content_type = "text/event-stream", .body = std::move(events)};
  add_limit_headers(reply);
  strike_reply(*job.strike, reply);
  count_answer(job);
  jobs_.erase(request);
  push(request, std::move(reply));
}

}  // namespace windrow::sim_upstream
