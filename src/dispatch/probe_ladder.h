// ProbeLadder: which numbers in flight are worth measuring, and what the measurements say. Pure.
//
// It doubles from one in flight, as long as that brings more: two doublings in a row without gain
// are the end, and so is an upstream that refuses. ConcurrencyLimit finds a number while a job
// runs; this one is for people who want to see the curve before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/probe_step.h"

namespace windrow::dispatch {

struct ProbeLadderOptions {
  std::vector<int32_t> in_flight;  // exactly these, in this order; empty: doubling
  int32_t in_flight_max = 128;     // of doubling
};

enum class ProbeFindingKind : uint8_t {
  kNothing,    // no answer at all
  kOne,        // only one number was measured: nothing to compare it with
  kSerial,     // it answers one request at a time
  kSaturates,  // more than `in_flight` bring nothing
  kRefuses,    // more than `in_flight` are refused
  kGrows,      // the largest number measured still brought more
};

struct ProbeFinding {
  ProbeFindingKind kind = ProbeFindingKind::kNothing;
  int32_t in_flight = 0;     // to work with; 0: none is known
  int32_t refused_at = 0;    // kRefuses
  double gain = 0;           // in work per second, over one in flight; 0: that was not measured
  bool interrupted = false;  // there was more to measure
};

std::string_view to_string(ProbeFindingKind kind);

class ProbeLadder {
 public:
  explicit ProbeLadder(ProbeLadderOptions options);

  // What to measure next; nothing: all is known.
  std::optional<int32_t> next() const;

  // What came of next().
  void add(const ProbeMeasure& measure);

  const std::vector<ProbeMeasure>& measures() const { return measures_; }
  ProbeFinding finding() const;

 private:
  const ProbeLadderOptions options_;
  std::vector<ProbeMeasure> measures_;
  double best_ = 0;           // work per second
  int32_t without_gain_ = 0;  // doublings in a row
  bool ended_ = false;        // it refuses, or answers nothing
};

}  // namespace windrow::dispatch
