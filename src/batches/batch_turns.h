// BatchTurns: which batches may work now. Pure: the unfinished batches and the time go in, and a
// decision comes out, which BatchRunner carries out.
//
// Rules:
// * A batch that only has to be closed is closed at once.
// * One batch is validated at a time: the one that has spent least time on it, then one of another
//   key than the last, then the oldest. A validation that exceeds its turn while others wait is
//   interrupted and later starts again with twice the time. So a file that takes long to read
//   delays no other batch for long, and at most one file is partly read.
// * At most `running_max` batches run their rows at a time, and as many again of keys that have
//   none running: a key with many long batches does not delay the others for hours. Preferred is
//   the key with the fewest running batches, then a batch whose models no other one uses, then the
//   oldest.
// * A running batch whose model is not loaded, or whose key was revoked, takes no slot. At most one
//   batch waits for each model.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "batches/batch_record.h"

namespace windrow::batches {

// One unfinished batch.
struct TurnCandidate {
  const BatchRecord* record = nullptr;
  bool working = false;        // a thread works on it
  bool running = false;        // its rows run
  bool held_back = false;      // it failed a moment ago and is not tried again yet
  bool interruptible = false;  // it is being validated and its file is open
};

// Batches are named by BatchRecord::number.
struct TurnDecision {
  std::vector<int64_t> close;
  std::optional<int64_t> interrupt;  // its validation has used up its turn
  std::optional<int64_t> validate;
  std::vector<int64_t> run;

  friend bool operator==(const TurnDecision&, const TurnDecision&) = default;
};

// Not thread-safe.
class BatchTurns {
 public:
  // What the decision needs to know about models and keys. The answers may change at any time.
  struct Questions {
    std::function<bool(const std::string& model)> waits_for_model;
    std::function<bool(const BatchRecord& record)> lacks_key;
  };

  BatchTurns(int32_t running_max, Questions questions)
      : running_max_(running_max), questions_(std::move(questions)) {}

  // `batches` are ordered by number, oldest first. The caller starts and interrupts what the
  // decision names; the batches that it starts are `working` in the next call.
  TurnDecision next(std::vector<TurnCandidate> batches, TimePoint now);

  // The validation has returned, complete or not, and another one may begin.
  void validation_ended();

 private:
  static constexpr Duration kFirstTurn = std::chrono::seconds(2);

  Duration turn_of(int64_t batch) const;
  bool waits_for_a_model(const BatchRecord& record) const;
  bool takes_slot(const TurnCandidate& batch) const;
  const TurnCandidate* next_to_validate(const std::vector<TurnCandidate>& batches) const;
  TurnCandidate* next_to_run(std::vector<TurnCandidate>& batches, int32_t running) const;

  const int32_t running_max_;
  const Questions questions_;

  std::optional<int64_t> validating_;
  TimePoint validating_since_;
  bool interrupted_ = false;
  std::string last_validated_key_;
  std::map<int64_t, Duration> longer_turns_;  // of batches that were interrupted
};

}  // namespace windrow::batches
