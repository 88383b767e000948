// ProgramHost: what the functions that programs call can do; implemented by run/program_run.h.
//
// Functions that return a Failure raise it as a Lua error. What begin_* starts ends with
// LuaProgram::step(task, result): the task suspends meanwhile. Called on the program thread, from
// within LuaProgram::step; a task is the one that runs.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "program/context/context.h"
#include "program/context/context_table.h"
#include "program/models/program_models.h"
#include "program/program_usage.h"
#include "program/tasks/task_group.h"

namespace windrow::program {

class ProgramHost {
 public:
  virtual ~ProgramHost() = default;

  // --- contexts: no waiting ---

  // `model` empty: that of the instance.
  virtual std::variant<ContextId, llm::Failure> new_context(TaskId task, std::string_view model,
                                                            ContextOptions options) = 0;
  virtual std::variant<std::vector<ContextId>, llm::Failure> fork(TaskId task, ContextId parent,
                                                                  size_t count) = 0;

  // Null once it was released. `is_busy` says that a call waits for it.
  virtual HeldContext* find(ContextId context) = 0;
  virtual void release(ContextId context) = 0;

  // What contexts take together is more than they may: the text of the limit.
  virtual std::optional<std::string> memory_fault() const = 0;

  // --- calls: the task waits ---

  // `seed` absent: one that derives from the context's path.
  virtual std::optional<llm::Failure> begin_generate(TaskId task, ContextId context,
                                                     GenerateOptions options,
                                                     std::optional<uint64_t> seed) = 0;
  virtual std::optional<llm::Failure> begin_score(TaskId task, ContextId context,
                                                  std::vector<std::string> texts) = 0;
  virtual std::optional<llm::Failure> begin_select(TaskId task, ContextId context,
                                                   std::vector<std::string> choices) = 0;
  virtual std::optional<llm::Failure> begin_embed(TaskId task, std::string_view model,
                                                  std::vector<std::string> texts,
                                                  bool is_single) = 0;

  // Branches of a group whose functions LuaProgram keeps under `group`.
  virtual std::optional<llm::Failure> begin_group(TaskId task, uint32_t group, GroupKind kind,
                                                  size_t count, size_t limit) = 0;

  // --- the rest ---

  virtual size_t branches_max() const = 0;
  virtual uint64_t random(TaskId task) = 0;
  virtual void set_stage(TaskId task, std::string_view stage) = 0;
  virtual ProgramUsage usage() const = 0;
  virtual void log(std::string_view line) = 0;
};

}  // namespace windrow::program
