// Trace: what the instances of a job did, for people: which calls, in which stage and branch, when,
// how many tokens, which passes. A ring of events, bounded; the oldest go first. Off where there is
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "llm/answer.h"
#include "program/trace/pass_log.h"

namespace windrow::program {

enum class TraceKind : uint8_t {
  kInstance,  // an instance from its start to its end
  kTask,      // a branch: all, race, map
  kGenerate,
  kScore,
  kSelect,
  kEmbed,
};
std::string_view to_string(TraceKind kind);

enum class TraceEnd : uint8_t { kDone, kFailed, kCancelled };
std::string_view to_string(TraceEnd end);

// One span of time. Task numbers count from 1 within an instance; the instance's own function is 1.
struct TraceSpan {
  TraceKind kind = TraceKind::kGenerate;
  TraceEnd end = TraceEnd::kDone;
  uint64_t instance = 0;
  std::string name;     // of an instance: its custom_id; of a task: "all 3 of 8"; else empty
  std::string stage;    // of stage(); empty: none was set
  uint32_t task = 0;    // that it is, or that it is a call of
  uint32_t parent = 0;  // the task that started it; 0: none
  uint64_t tag = 0;     // of a call, as in LoggedPass; 0: it was of an upstream
  TimePoint began;
  TimePoint ended;
  llm::Usage usage;   // of a call
  PassCounts passes;  // of a call
};

// Thread-safe.
class Trace {
 public:
  explicit Trace(size_t spans_max);

  void add(TraceSpan span);

  struct Kept {
    std::vector<TraceSpan> spans;  // in the order in which they ended
    int64_t lost = 0;
  };
  Kept kept() const;

 private:
  const size_t spans_max_;
  mutable std::mutex mutex_;
  std::deque<TraceSpan> spans_;
  int64_t lost_ = 0;
};

// Both together, as the Trace Event Format that chrome://tracing and Perfetto read: a process
// for each instance, a thread for each task, a span for each call with its tokens and passes, and a
// process "engine" with one span a pass and its width as a counter. Pure.
std::string trace_as_chrome_json(const Trace::Kept& trace, const PassLog::Kept& passes);

// As text: a tree of tasks and calls for each instance (at most `instances_max` of them), each call
// with its passes (first to last, mean width), shared and own tokens; then tokens by stage, wasted
// tokens (of calls that were cancelled or failed), and the mean width of passes. Lines have at most
// 100 columns. Pure.
std::string trace_as_text(const Trace::Kept& trace, const PassLog::Kept& passes,
                          size_t instances_max = 20);

}  // namespace windrow::program
