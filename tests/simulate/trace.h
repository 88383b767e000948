// Trace: what happened in a simulated run, in order. All of it goes into one hash, so that two runs
// can be compared; the last events are kept, to show why a run failed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace windrow::simulate {

// Used by one thread at a time.
class Trace {
 public:
  // Called with every event as it happens; empty: not called.
  using Show = std::function<void(const std::string&)>;

  explicit Trace(Show show = {}) : show_(std::move(show)) {}

  // A step of a thread: too many to be kept.
  void step(uint64_t thread, uint64_t what);

  // Something a person would want to read. `thread` 0: the simulation itself, outside of a run.
  void event(TimePoint now, uint64_t thread, std::string_view text);

  // The hash of all steps and events so far.
  uint64_t hash() const { return hash_; }

  // The last events, the oldest first.
  const std::deque<std::string>& last() const { return last_; }

 private:
  void mix(uint64_t value);

  const Show show_;
  uint64_t hash_ = 0;
  std::deque<std::string> last_;
};

}  // namespace windrow::simulate
