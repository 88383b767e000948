// ProgramRun: one instance of a program: its tasks, its contexts, the calls that are out, what it
// has used. It decides; what waits is told to it by on_call().
//
// Used by the program thread. What an instance ends with is known once it has no call out any more,
// so nothing of it is left anywhere when its ProgramEnd is taken.
#pragma once

#include <boost/json/value.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "program/context/context_table.h"
#include "program/context/seeds.h"
#include "program/lua/lua_program.h"
#include "program/lua/program_host.h"
#include "program/models/program_models.h"
#include "program/run/model_calls.h"
#include "program/run/open_calls.h"
#include "program/run/program_loop.h"
#include "program/run/run_environment.h"
#include "program/tasks/task_group.h"
#include "program/trace/pass_log.h"
#include "program/trace/trace.h"

namespace windrow::program {

class ProgramRun final : public ProgramHost {
 public:
  // `environment` outlives it.
  ProgramRun(InstanceId id, ProgramStart start, const RunEnvironment& environment,
             ProgramLoop::Done done);
  ~ProgramRun() override;
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  InstanceId id() const { return id_; }
  TimePoint deadline() const { return deadline_; }

  // Whether a task wants to run.
  bool is_ready() const { return !ready_.empty(); }

  // Runs one slice of one task that is ready.
  void step();

  void on_call(CallEnded ended);

  // Ends it with this failure: all its calls are stopped.
  void cancel(llm::Failure why);

  // Something threw while it was worked on, memory for one: its row fails, and no other.
  void fail_on(const std::exception& error);

  // Its time is over.
  void on_deadline();

  // It has ended, and no call of it is out.
  bool is_over() const { return outcome_.has_value() && calls_.empty(); }

  // Once is_over(): tells its Done.
  void finish();

  size_t contexts() const { return contexts_.size(); }
  size_t tasks() const { return tasks_.size(); }
  size_t memory_bytes() const { return lua_ ? lua_->bytes() : 0; }

  // ProgramHost
  std::variant<ContextId, llm::Failure> new_context(TaskId task, std::string_view model,
                                                    ContextOptions options) override;
  std::variant<std::vector<ContextId>, llm::Failure> fork(TaskId task, ContextId parent,
                                                          size_t count) override;
  HeldContext* find(ContextId context) override { return contexts_.find(context); }
  void release(ContextId context) override;
  std::optional<std::string> memory_fault() const override;
  std::optional<llm::Failure> begin_generate(TaskId task, ContextId context,
                                             GenerateOptions options,
                                             std::optional<uint64_t> seed) override;
  std::optional<llm::Failure> begin_score(TaskId task, ContextId context,
                                          std::vector<std::string> texts) override;
  std::optional<llm::Failure> begin_select(TaskId task, ContextId context,
                                           std::vector<std::string> choices) override;
  std::optional<llm::Failure> begin_embed(TaskId task, std::string_view model,
                                          std::vector<std::string> texts, bool is_single) override;
  std::optional<llm::Failure> begin_group(TaskId task, uint32_t group, GroupKind kind, size_t count,
                                          size_t limit) override;
  size_t branches_max() const override;
  uint64_t random(TaskId task) override;
  void set_stage(TaskId task, std::string_view stage) override;
  ProgramUsage usage() const override;
  void log(std::string_view line) override;

 private:
  struct Task {
    SeedPath seeds{0};
    std::string stage;
    TaskId parent;
    uint32_t group = 0;                // whose branch it is; 0: the program's own function
    size_t index = 0;                  // in that group
    int32_t depth = 0;                 // how many groups it is a branch of
    uint64_t call = 0;                 // that it waits for; 0: none
    uint32_t waits = 0;                // the group that it waits for; 0: none
    std::optional<WaitResult> result;  // with which it goes on
    TimePoint began;
  };
  struct Group {
    TaskGroup logic;
    TaskId waiter;
    uint64_t seed = 0;                  // of which each branch has a part
    std::map<size_t, TaskId> branches;  // that run
    TaskId failed;                      // the branch whose error decides
  };

  // --- tasks ---
  void start_branches(uint32_t group);
  void task_ended(TaskId task, TaskGroup::BranchEnd end);
  void cancel_task(TaskId task);
  void advance_group(uint32_t group);
  void go_on(TaskId task, WaitResult result);
  void main_ended(StepEnd end);
  void end_with(std::variant<boost::json::value, llm::Failure> outcome);

  // --- calls ---
  std::optional<llm::Failure> wait_for(TaskId task, ContextId context,
                                       const ModelCalls::Begun& begun);
  WaitResult result_of(const OpenCall& call, CallOutcomes& outcome);

  const InstanceId id_;
  const ProgramStart start_;
  const RunEnvironment& environment_;
  const ProgramLoop::Done done_;
  const TimePoint began_;
  const TimePoint deadline_;

  const std::shared_ptr<ContextMemory> context_memory_ = std::make_shared<ContextMemory>();
  ContextTable contexts_;
  boost::unordered_flat_map<TaskId, Task, std::hash<TaskId>> tasks_;
  std::map<uint32_t, Group> groups_;
  OpenCalls calls_;
  ModelCalls asking_;
  std::deque<TaskId> ready_;
  uint32_t tasks_given_ = 0;

  size_t memory_bytes_peak_ = 0;  // once Lua has gone
  std::optional<std::variant<boost::json::value, llm::Failure>> outcome_;

  // The last member: its end releases contexts.
  std::unique_ptr<LuaProgram> lua_;
};

}  // namespace windrow::program
