// NaiveSession: a session as the trainers' reference server keeps it: each turn with all messages,
// tokens and rows of its conversation, so with memory that grows as turns x context. Slow and
// simple; tests compare History, TurnPath and assemble() with it. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/history/history.h"
#include "session/samples/sample.h"

namespace windrow::session::testing {

using NaiveRows = std::vector<std::vector<int32_t>>;  // a row for each token but the last

// What a turn is committed with, and what is kept of it.
struct NaiveTurn {
  // All of the conversation, the answer included; messages are the same if their texts are.
  std::vector<std::string> messages;
  std::vector<int32_t> tokens;

  size_t sampled_begin = 0;      // the tokens from there on are sampled
  std::vector<double> logprobs;  // of the sampled ones

  // All rows, as the reply had them; nothing: it told none.
  std::optional<NaiveRows> rows[kRowKinds];

  std::string finish_reason;
  TurnFigures figures;

  // Set by commit. `first_rows`: rows of tokens that were computed before, as they were then; of
  // tokens behind them as this reply has them.
  uint64_t id = 0;
  uint64_t parent = 0;
  NaiveRows first_rows[kRowKinds];
};

struct NaiveAttachment {
  int refused = 0;  // the status, or 0
  uint64_t parent = 0;
  size_t parent_messages = 0;
  size_t left_out = 0;
  int64_t commits = 0;
};

// A sample with everything in it.
struct NaiveSample {
  std::vector<int32_t> tokens;

  // Of each token of the response: the turn that sampled it, 0 for those of prompts; whether it is
  // trained on, 0 or 1; and its log-probability.
  std::vector<uint64_t> sampled_by;
  std::string mask;
  std::vector<double> logprobs;
  std::optional<NaiveRows> rows[kRowKinds];
  SampleStatus status = SampleStatus::kPending;
  std::vector<std::string> weight_versions;
  int64_t cached_tokens = 0;
  int64_t prompt_tokens = 0;
  uint64_t last_turn = 0;
};

class NaiveSession {
 public:
  explicit NaiveSession(HistoryOptions options) : options_(options) {}

  NaiveAttachment attach(const std::vector<std::string>& request) const;
  bool commit(const NaiveAttachment& attachment, NaiveTurn turn);

  // The turns that are there, in the order of their commit.
  const std::map<uint64_t, NaiveTurn>& turns() const { return turns_; }
  std::vector<uint64_t> leaves() const;
  int64_t rollbacks() const { return rollbacks_; }

  // Of the conversations that end with these turns: a sample for each turn, or one of each
  // conversation, made as the reference does from the records of all turns, each with its own copy
  // of everything.
  std::vector<NaiveSample> samples(const std::vector<uint64_t>& leaves,
                                   const SampleRules& rules) const;

 private:
  NaiveAttachment attach_linear(const std::vector<std::string>& request) const;
  NaiveAttachment attach_tree(const std::vector<std::string>& request) const;
  std::vector<uint64_t> path(uint64_t leaf) const;
  std::vector<NaiveSample> samples_of(uint64_t leaf, const SampleRules& rules) const;

  const HistoryOptions options_;
  std::map<uint64_t, NaiveTurn> turns_;
  uint64_t next_id_ = 1;
  int64_t commits_ = 0;
  int64_t rollbacks_ = 0;
};

}  // namespace windrow::session::testing
