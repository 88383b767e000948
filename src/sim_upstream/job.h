// Job: one call of a model on its way through a simulated upstream, and what it comes to: how many
// tokens its prompt and its answers have is known from the start, only how long they take is not.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sim_upstream/faults.h"
#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"
#include "sim_upstream/reply_body.h"
#include "sim_upstream/stream_body.h"

namespace windrow::sim_upstream {

struct Job {
  ModelCall call;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  std::vector<int64_t> answer_tokens;  // of each choice
  std::vector<bool> cut;               // by the limit, likewise
  std::optional<Strike> strike;
  bool answer_of_another = false;
  bool in_slot = false;

  // Of a stream: the tokens that each choice has by now, where it has so many, and, since the
  // first of them, its text.
  int64_t tokens_made = 0;
  std::optional<StreamBody> stream;
  bool begun = false;     // some of it was told
  std::string held_back;  // made, and not told yet

  int64_t tokens() const;          // in memory
  int64_t longest_answer() const;  // its choices are rows of one batch, so this one counts
  Duration next_step(const SimOptions& options) const;  // of a stream that goes on
  bool is_struck_by(FaultKind kind) const { return strike && strike->kind == kind; }

  // It was asked for JSON and gives it in another shape.
  bool breaks_schema() const;
};

// kInvalid when the context is too short and the server does not simply cut the prompt.
Result<Job> make_job(const SimOptions& options, ModelCall call);

// What it answers; `facts` lacks the model and usage, which are the job's.
std::string reply_body(const SimOptions& options, const Job& job, ReplyFacts facts);
StreamBody stream_body(const SimOptions& options, const Job& job, ReplyFacts facts);

}  // namespace windrow::sim_upstream
