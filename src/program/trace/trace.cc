#include "program/trace/trace.h"

#include <utility>

namespace windrow::program {

std::string_view to_string(TraceKind kind) {
  switch (kind) {
    case TraceKind::kInstance:
      return "instance";
    case TraceKind::kTask:
      return "task";
    case TraceKind::kGenerate:
      return "generate";
    case TraceKind::kScore:
      return "score";
    case TraceKind::kSelect:
      return "select";
    case TraceKind::kEmbed:
      return "embed";
  }
  return "";
}

std::string_view to_string(TraceEnd end) {
  switch (end) {
    case TraceEnd::kDone:
      return "done";
    case TraceEnd::kFailed:
      return "failed";
    case TraceEnd::kCancelled:
      return "cancelled";
  }
  return "";
}

Trace::Trace(size_t spans_max) : spans_max_(spans_max) {}

void Trace::add(TraceSpan span) {
  const std::scoped_lock lock(mutex_);
  if (spans_max_ == 0 || spans_.size() == spans_max_) {
    ++lost_;
    if (spans_max_ == 0) return;
    spans_.pop_front();
  }
  spans_.push_back(std::move(span));
}

Trace::Kept Trace::kept() const {
  const std::scoped_lock lock(mutex_);
  return {.spans = {spans_.begin(), spans_.end()}, .lost = lost_};
}

}  // namespace windrow::program
