// OpenCalls: the calls of models that an instance has out: what they may still take of its limit of
// tokens, what those that ended have used, and their spans in the trace.
//
// Used by the program thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "llm/answer.h"
#include "program/context/context.h"
#include "program/context/context_table.h"
#include "program/models/program_models.h"
#include "program/program_usage.h"
#include "program/tasks/task_group.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"

namespace windrow::program {

using CallOutcomes = std::variant<GenerateReply, ScoreReply, EmbedReply, llm::Failure>;

struct OpenCall {
  TraceKind kind = TraceKind::kGenerate;
  TaskId task;                     // that waits for it
  ContextId context;               // 0: of none
  Prompt prompt;                   // of kGenerate, and of kSelect
  std::vector<std::string> texts;  // of kScore and kSelect
  bool has_schema = false;         // the answer is JSON
  bool is_single = false;          // of kEmbed: one text, not a list
  std::string stage;

  // Set by OpenCalls.
  bool is_wanted = true;  // false: the task has been cancelled
  int64_t tokens_max = 0;
  uint64_t tag = 0;
  TimePoint began;
  std::stop_source stop;
};

class OpenCalls {
 public:
  // `passes`, `clock` and `trace`, which may be null, outlive it.
  OpenCalls(uint64_t instance, int64_t tokens_max, PassLog& passes, Trace* trace,
            const Clock& clock);

  // Takes a call that may take `tokens` at most, and returns its number. Fails with kTokenLimit
  // where the instance could then take more than it may.
  std::variant<uint64_t, llm::Failure> begin(OpenCall call, int64_t tokens);

  OpenCall& at(uint64_t call) { return calls_.at(call); }

  // Its answer is not wanted any more: its rows leave the batch. It stays until it has ended.
  void stop(uint64_t call);
  void stop_all();

  // It has ended. Nothing for a number that is not out.
  std::optional<OpenCall> end(uint64_t call, const CallOutcomes& outcome);

  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }

  // Of calls that have ended: tokens, calls (those that are out too), wasted_tokens.
  const ProgramUsage& usage() const { return usage_; }

 private:
  const uint64_t instance_;
  const int64_t tokens_max_;
  PassLog& passes_;
  Trace* const trace_;
  const Clock& clock_;
  std::map<uint64_t, OpenCall> calls_;
  uint64_t given_ = 0;
  int64_t tokens_ = 0;           // that were taken
  int64_t tokens_reserved_ = 0;  // that may be taken by calls that are out
  ProgramUsage usage_;
};

}  // namespace windrow::program
