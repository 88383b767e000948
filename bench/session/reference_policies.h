// What the reference server keeps of the rows of a session, by its own rules, on the same replies:
// every reply whole, or the replies of the last two turns (its proposed change). Accounted for, and
// not held: all of them would be 82 GB.
#pragma once

#include <cstddef>
#include <vector>

namespace windrow::session_bench {

// Of one session. Bytes are those of the rows in a reply, before base64.
class KeepAll {
 public:
  void append(double reply_bytes) { retained_ += reply_bytes; }
  double retained_bytes() const { return retained_; }

 private:
  double retained_ = 0;
};

// Appending a record takes the rows from the one that is three from the end, as
// `index = len - 1 - (MAX_ASSISTANT_ROLLBACK_STEPS + 1)` says there.
class KeepLastTwo {
 public:
  void append(double reply_bytes) {
    records_.push_back(reply_bytes);
    if (records_.size() >= kKept + 1) records_[records_.size() - 1 - kKept] = 0;
  }
  double retained_bytes() const {
    double sum = 0;
    for (const double bytes : records_)
      sum += bytes;
    return sum;
  }

 private:
  static constexpr size_t kKept = 2;
  std::vector<double> records_;
};

}  // namespace windrow::session_bench
