// Sample: a part of a conversation as a trainer takes it: tokens, which of them the model sampled,
// their log-probabilities, and rows. It refers to the turns and copies nothing; the writer
// (samples_body.h) makes its numbers when they are sent. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/tokenizer.h"
#include "session/history/turn_path.h"

namespace windrow::session {

enum class SampleStatus : uint8_t { kPending, kCompleted, kTruncated, kAborted, kFailed };
std::string_view to_string(SampleStatus status);

struct Sample {
  TurnPath path;            // the conversation
  size_t turns = 0;         // the sample is of its first turns
  size_t tokens = 0;        // and its first tokens
  size_t conversation = 0;  // the index of the conversation among those that were assembled

  // The response: everything behind the first prompt, prompts of later turns included. With
  // `turns_apart` the answer of the last turn alone.
  size_t response_begin = 0;

  SampleStatus status = SampleStatus::kPending;
  std::string response;           // its text
  bool has_rows[kRowKinds] = {};  // else they are told to be absent

  // In a tree: answers of these turns (indexes of path.turns(), in order) belong to an earlier
  // sample, and their mask is 0, so that each answer is trained on once.
  std::vector<size_t> masked_turns;

  std::vector<std::string> weight_versions;  // of its turns
  int64_t cached_tokens = 0;                 // sums over its turns
  int64_t prompt_tokens = 0;
  boost::json::object metadata;  // "lifecycle": when its turns were asked and answered

  const Turn& last() const { return *path.turns()[turns - 1]; }
  size_t response_length() const { return tokens - response_begin; }
  size_t rows() const { return tokens == 0 ? 0 : tokens - 1; }

  // Of response tokens [first, first + count), counted from the beginning of the response.
  void append_mask(size_t first, size_t count, std::string& bytes) const;
  void append_logprobs(size_t first, size_t count, std::vector<double>& values) const;
};

struct SampleRules {
  std::optional<size_t> tokens_max;  // `max_seq_len`: longer conversations are cut there
  bool turns_apart = false;          // a sample for each turn
};

enum class EmptyReason : uint8_t { kNoRecords, kAllTruncated };
std::string_view to_string(EmptyReason reason);  // "no_records", "all_truncated"

struct Samples {
  std::vector<Sample> samples;
  std::optional<EmptyReason> empty;  // why there are none
};

// The samples of conversations: one each, or one a turn. A conversation ends at the first turn that
// did not complete, and before a turn that lacks rows which those before it have; where its turns
// are apart, only `tokens_max` ends it. Turns that several conversations share are trained on in
// the one whose last turn was committed first; where turns are apart they are in that one alone.
//
// 422 `cannot_assemble` names the turn, from 1, and what is wrong with it: rows that do not cover
// its tokens, for one.
std::variant<Samples, llm::Failure> assemble(std::span<const TurnPath> paths,
                                             const SampleRules& rules,
                                             const llm::Tokenizer& tokenizer);

}  // namespace windrow::session
