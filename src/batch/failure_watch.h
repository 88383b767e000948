// FailureWatch: decides when a job stops because its rows fail: a mistake that concerns all of its
// rows, or more failures than its owner accepts. Pure; used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::batch {

// How many rows must fail alike, and none succeed, before the job itself is taken to be mistaken.
inline constexpr int64_t kAlikeRows = 100;

// Which failures stop a job. The default: none.
struct FailureLimit {
  // The first kAlikeRows rows of the run all failed alike.
  bool first_alike = false;

  // So many rows of the run failed; 0: no limit.
  int64_t rows_max = 0;

  friend bool operator==(const FailureLimit&, const FailureLimit&) = default;
};

// Why a job stopped.
struct FailureStop {
  bool alike = false;  // by FailureLimit::first_alike, else by its rows_max
  int64_t rows = 0;    // that failed

  // The first row that failed alike, or the last one that was accepted.
  uint64_t line = 0;
  std::string custom_id;  // empty when it could not be named
  int32_t status = 0;
  std::string code;
  std::string message;

  friend bool operator==(const FailureStop&, const FailureStop&) = default;
};

// A row that failed. `ordinal`: how many rows of the run were read before it.
struct FailedRow {
  int64_t ordinal = 0;
  uint64_t line = 0;
  std::string_view custom_id;
  bool of_line = false;  // the line never became a request
  const llm::Failure& failure;
};

// Rows end in any order, but the first ones are those of the input: a valid row that takes long
// must not be overtaken by a hundred invalid ones behind it. And one more row than those has to
// fail, so that a job of exactly kAlikeRows rows ends like any other.
class FailureWatch {
 public:
  // `succeeded_before`: rows have an answer from earlier runs, so the job as such is sound.
  FailureWatch(FailureLimit limit, bool succeeded_before);

  void add_success() { may_be_alike_ = false; }

  // True when the job is to stop; from then on always.
  bool add_failure(const FailedRow& row);

  // Set once it is to stop.
  const std::optional<FailureStop>& stop() const { return stop_; }

 private:
  void compare(const FailedRow& row);

  FailureLimit limit_;
  bool may_be_alike_;
  std::optional<FailureStop> first_;  // of those that are alike
  std::string shape_;
  int64_t alike_ = 0;
  int64_t failed_ = 0;
  std::optional<FailureStop> stop_;
};

// What equal mistakes have in common: status, code, field, and the message without its numbers and
// quoted names. Empty for a failure that says nothing about the job: of an overloaded or failing
// server, or one that may pass.
std::string failure_shape(const llm::Failure& failure);

}  // namespace windrow::batch
