// LuaProgram: a program in its interpreter: its tasks as coroutines, the functions it calls, its
// values. Its header names nothing of Lua.
//
// Used by one thread.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"
#include "llm/answer.h"
#include "program/limits.h"
#include "program/lua/program_host.h"
#include "program/lua/wait_result.h"

namespace windrow::program {

// How a step of a task ended.
enum class StepEnd : uint8_t {
  kReturned,
  kWaits,   // it began something that waits
  kSliced,  // its slice is over; it wants another
  kFailed,  // with a Lua error
};

class LuaProgram {
 public:
  // `clock` and `host` outlive it. The clock decides where slices end, and no result.
  LuaProgram(const ProgramLimits& limits, const Clock& clock, ProgramHost& host);

  // Closes what is open; contexts that Lua owns are released by it.
  ~LuaProgram();
  LuaProgram(const LuaProgram&) = delete;
  LuaProgram& operator=(const LuaProgram&) = delete;

  // Compiles the program and runs what is outside its function, where nothing may wait. kInvalid:
  // it does not compile, fails, or does not return a function; "NAME:LINE: what".
  Result<void> load(std::string_view source, const std::string& name);

  // Task 1: the program's function with its input; nil where that is null.
  void begin_main(const boost::json::value& input);

  // A branch of a group, as a task of this id.
  void begin_branch(TaskId task, uint32_t group, size_t index);

  // Runs a slice of the task: a new one, one that was sliced, or one that waited and goes on with
  // `result`.
  StepEnd step(TaskId task);
  StepEnd step(TaskId task, const WaitResult& result);

  // What task 1 returned, as JSON of at most `bytes_max`; or why it is none.
  std::variant<boost::json::value, llm::Failure> result(size_t bytes_max);

  // Why a task failed: the failure of a model or a limit, or kProgramError; the message has the
  // traceback, those of branches first.
  llm::Failure failure_of(TaskId task);

  // A branch has returned: its value becomes part of the group's.
  void keep_value(TaskId task, uint32_t group, size_t index);

  // A branch has failed, and its error decides: it is kept until a BranchError has raised it.
  void keep_error(TaskId task);

  // Closes the task's coroutine wherever it is, and lets go of the task.
  void end(TaskId task);

  // The functions and values of a group are not wanted any more.
  void drop_group(uint32_t group);

  // What is kept for a result that a task has gone on with, or never will.
  void drop_result(const WaitResult& result);

  // A limit was hit: no task goes on.
  bool is_forbidden() const;

  // Runs the collector, which releases contexts that nothing refers to.
  void collect();

  size_t bytes() const;
  size_t bytes_peak() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace windrow::program
