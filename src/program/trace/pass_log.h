// PassLog: which forward passes the calls of programs took part in, counted as the engine runs
// them. It is the llm::RowObserver of the models of a job. Tags are given out here and say to which
// instance a row belongs.
//
// Without a trace it counts only: a few additions for each row of a pass.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "llm/step_report.h"

namespace windrow::program {

// What the rows of one instance, or of one call, took of forward passes.
struct PassCounts {
  int64_t passes = 0;          // that had at least one of its rows
  int64_t rows = 0;            // its rows of all passes together
  int64_t width = 0;           // all rows of those passes together, of others too
  int64_t tokens = 0;          // computed
  int64_t cached_tokens = 0;   // taken from the prefix cache
  int64_t decoded_tokens = 0;  // of `tokens`, those of rows that decode

  PassCounts& operator+=(const PassCounts& other);
  friend bool operator==(const PassCounts&, const PassCounts&) = default;
};

// One pass, as it is kept for a trace.
struct LoggedPass {
  int64_t number = 0;  // counted from 1
  TimePoint end;
  Duration duration{};              // of the model, without the sampling after it
  int32_t width = 0;                // rows, of others too
  std::vector<llm::RowTrace> rows;  // those with a tag
};

// Thread-safe.
class PassLog {
 public:
  // `clock` outlives it. `passes_max`: that are kept for a trace, the newest; 0: none.
  explicit PassLog(const Clock& clock, size_t passes_max = 0);

  // llm::RowObserver. Passes of several models are numbered together.
  void observe(const llm::StepReport& step, std::span<const llm::RowTrace> rows);

  // A tag for one call of an instance; its rows count from now on.
  uint64_t begin_call(uint64_t instance);

  // The counts of a call that has ended; the tag is not known any more.
  PassCounts end_call(uint64_t tag);

  // The counts of an instance so far, each pass once however many of its calls were in it. 0 for
  // one that made no call. forget() when it has ended.
  PassCounts of_instance(uint64_t instance) const;
  void forget(uint64_t instance);

  // The passes that are kept, and how many were lost because there were more.
  struct Kept {
    std::vector<LoggedPass> passes;
    int64_t lost = 0;
  };
  Kept kept() const;

 private:
  // What was counted for one owner, and the pass that was counted last: each counts once.
  struct Count {
    PassCounts counts;
    int64_t last_pass = 0;

    void add(const llm::RowTrace& row, int64_t pass, int64_t width);
  };
  struct Call {
    uint64_t instance = 0;
    Count count;
  };

  const Clock& clock_;
  const size_t passes_max_;
  mutable std::mutex mutex_;
  boost::unordered_flat_map<uint64_t, Call> calls_;
  boost::unordered_flat_map<uint64_t, Count> instances_;
  std::deque<LoggedPass> passes_;
  int64_t lost_ = 0;
  int64_t passes_seen_ = 0;
  uint64_t tags_given_ = 0;
};

}  // namespace windrow::program
