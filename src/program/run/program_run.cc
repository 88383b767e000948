#include "program/run/program_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "base/ensure.h"
#include "base/format.h"
#include "json/parse.h"
#include "program/run/call_values.h"
#include "program/run/program_result.h"

namespace windrow::program {
namespace {

namespace json = boost::json;

std::string_view name_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::kAll:
      return "all";
    case GroupKind::kRace:
      return "race";
    case GroupKind::kMap:
      break;
  }
  return "map";
}

TraceEnd trace_end(TaskGroup::BranchEnd end) {
  switch (end) {
    case TaskGroup::BranchEnd::kReturned:
      return TraceEnd::kDone;
    case TaskGroup::BranchEnd::kFailed:
      return TraceEnd::kFailed;
    case TaskGroup::BranchEnd::kCancelled:
      break;
  }
  return TraceEnd::kCancelled;
}

}  // namespace

ProgramRun::ProgramRun(InstanceId id, ProgramStart start, const RunEnvironment& environment,
                       ProgramLoop::Done done)
    : id_(id),
      start_(std::move(start)),
      environment_(environment),
      done_(std::move(done)),
      began_(environment.clock.now()),
      deadline_(began_ + environment.options.limits.wall_max),
      contexts_(environment.options.limits.contexts_max,
                [this](const ContextModel& model, std::vector<int32_t> tokens) {
                  return environment_.models.hold(model, std::move(tokens));
                }),
      calls_(id.value(), environment.options.limits.tokens_max, environment.passes,
             environment.trace, environment.clock),
      asking_(id_, start_, environment_, contexts_, calls_) {
  lua_ = std::make_unique<LuaProgram>(environment.options.limits, environment.clock, *this);
  if (Result<void> loaded = lua_->load(environment.program.source, environment.program.name);
      !loaded) {
    end_with(program_failure(kProgramInvalid, loaded.error().message));
    return;
  }
  const auto input = parse_json(start_.input.empty() ? "null" : std::string_view(start_.input));
  if (const auto* fault = std::get_if<JsonFault>(&input)) {
    end_with(program_failure("invalid_input", fmt::format("the input is not JSON: {} near byte {}",
                                                          fault->reason, fault->byte)));
    return;
  }
  const TaskId main(++tasks_given_);
  tasks_[main] = Task{.seeds = SeedPath(start_.seed), .began = began_};
  lua_->begin_main(std::get<json::value>(input));
  ready_.push_back(main);
}

ProgramRun::~ProgramRun() {
  ENSURE(calls_.empty(), "a program ended while {} of its calls were out", calls_.size());
}

// --- tasks ------------------------------------------------------------------------------------

void ProgramRun::step() {
  const TaskId id = ready_.front();
  ready_.pop_front();
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;  // it was cancelled
  std::optional<WaitResult> result = std::exchange(found->second.result, std::nullopt);
  const StepEnd end = result ? lua_->step(id, *result) : lua_->step(id);
  if (result) lua_->drop_result(*result);
  switch (end) {
    case StepEnd::kWaits:
      break;
    case StepEnd::kSliced:
      // Before the other tasks: what a task does between two calls that wait, none of them sees
      // half done. Other instances have their turns meanwhile.
      ready_.push_front(id);
      break;
    case StepEnd::kReturned:
    case StepEnd::kFailed:
      // Once a limit was hit no task can go on. This one may have begun to wait when it was
      // noticed.
      if (lua_->is_forbidden()) return end_with(lua_->failure_of(id));
      if (id == TaskId(1)) {
        main_ended(end);
      } else {
        task_ended(id, end == StepEnd::kReturned ? TaskGroup::BranchEnd::kReturned
                                                 : TaskGroup::BranchEnd::kFailed);
      }
      break;
  }
}

void ProgramRun::main_ended(StepEnd end) {
  if (end == StepEnd::kFailed) return end_with(lua_->failure_of(TaskId(1)));
  end_with(lua_->result(environment_.options.limits.result_bytes_max));
}

// The first outcome counts. Everything of the instance is let go of; calls that are out are
// stopped.
void ProgramRun::end_with(std::variant<json::value, llm::Failure> outcome) {
  if (outcome_) return;
  outcome_ = std::move(outcome);
  memory_bytes_peak_ = lua_ ? lua_->bytes_peak() : 0;
  calls_.stop_all();
  std::vector<TaskId> ids;
  for (const auto& [id, task] : tasks_)
    ids.push_back(id);
  // Branches before the tasks that wait for them.
  std::ranges::sort(ids, std::greater());
  for (const TaskId id : ids)
    lua_->end(id);
  tasks_.clear();
  groups_.clear();
  ready_.clear();
  lua_.reset();
  contexts_.clear();
}

void ProgramRun::start_branches(uint32_t group_id) {
  Group& group = groups_.at(group_id);
  const std::string stage = tasks_.at(group.waiter).stage;
  const int32_t depth = tasks_.at(group.waiter).depth + 1;
  for (const size_t index : group.logic.to_start()) {
    const TaskId id(++tasks_given_);
    tasks_[id] = Task{.seeds = SeedPath(SeedPath::part_of(group.seed, index)),
                      .stage = stage,
                      .parent = group.waiter,
                      .group = group_id,
                      .index = index,
                      .depth = depth,
                      .began = environment_.clock.now()};
    group.branches[index] = id;
    lua_->begin_branch(id, group_id, index);
    ready_.push_back(id);
  }
}

// A branch has ended: its value or its error belongs to the group, its coroutine is closed.
void ProgramRun::task_ended(TaskId id, TaskGroup::BranchEnd end) {
  const Task task = std::move(tasks_.at(id));
  Group& group = groups_.at(task.group);
  const bool decided_before = group.logic.decided_by().has_value();
  if (end == TaskGroup::BranchEnd::kReturned) lua_->keep_value(id, task.group, task.index);
  group.branches.erase(task.index);
  group.logic.ended(task.index, end);
  if (end == TaskGroup::BranchEnd::kFailed && !decided_before && group.logic.has_failed()) {
    lua_->keep_error(id);
    group.failed = id;
  }
  lua_->end(id);
  tasks_.erase(id);
  if (environment_.trace != nullptr) {
    environment_.trace->add({.kind = TraceKind::kTask,
                             .end = trace_end(end),
                             .instance = id_.value(),
                             .name = fmt::format("{} {} of {}", name_of(group.logic.kind()),
                                                 task.index + 1, group.logic.count()),
                             .stage = task.stage,
                             .task = id.value(),
                             .parent = task.parent.value(),
                             .began = task.began,
                             .ended = environment_.clock.now()});
  }
  advance_group(task.group);
}

// Cancels what a group's branches have left to do, starts more, or lets the waiting task go on.
void ProgramRun::advance_group(uint32_t group_id) {
  auto found = groups_.find(group_id);
  if (found == groups_.end()) return;
  for (const size_t index : found->second.logic.to_cancel()) {
    const auto branch = found->second.branches.find(index);
    if (branch != found->second.branches.end()) cancel_task(branch->second);
    // The last branch may have ended the group.
    found = groups_.find(group_id);
    if (found == groups_.end()) return;
  }
  Group& group = found->second;
  start_branches(group_id);
  if (!group.logic.is_over()) return;
  const TaskId waiter = group.waiter;
  WaitResult result = GroupValue{.group = group_id, .winner = std::nullopt};
  if (group.logic.has_failed()) {
    result = BranchError{.task = group.failed.value()};
    lua_->drop_group(group_id);
  } else if (group.logic.kind() == GroupKind::kRace) {
    result = GroupValue{.group = group_id, .winner = group.logic.decided_by()};
  }
  groups_.erase(found);
  const auto task = tasks_.find(waiter);
  if (task == tasks_.end()) return lua_->drop_group(group_id);
  task->second.waits = 0;
  go_on(waiter, std::move(result));
}

// A branch whose result is not wanted: its call leaves the batch, its own branches end first.
void ProgramRun::cancel_task(TaskId id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return;
  if (const uint64_t call = found->second.call; call != 0) {
    calls_.stop(call);
    // Free for others at once: nothing may depend on when the call has ended.
    if (HeldContext* held = contexts_.find(calls_.at(call).context)) held->is_busy = false;
  }
  if (found->second.result) lua_->drop_result(*found->second.result);
  if (const uint32_t waits = found->second.waits; waits != 0) {
    // It is cancelled itself: nothing goes on when its group is over.
    found->second.waits = 0;
    Group group = std::move(groups_.at(waits));
    groups_.erase(waits);
    for (const auto& [index, branch] : group.branches) {
      const auto task = tasks_.find(branch);
      if (task == tasks_.end()) continue;
      task->second.group = 0;
      cancel_task(branch);
    }
    lua_->drop_group(waits);
  }
  const auto still = tasks_.find(id);
  if (still->second.group != 0) return task_ended(id, TaskGroup::BranchEnd::kCancelled);
  lua_->end(id);
  tasks_.erase(id);
}

void ProgramRun::go_on(TaskId id, WaitResult result) {
  tasks_.at(id).result = std::move(result);
  ready_.push_back(id);
}

std::optional<llm::Failure> ProgramRun::begin_group(TaskId task, uint32_t group, GroupKind kind,
                                                    size_t count, size_t limit) {
  Task& waiter = tasks_.at(task);
  if (waiter.depth == kGroupDepthMax) {
    return program_failure(
        kChildrenLimit, fmt::format("{}: branches are nested {} deep, which is the limit; end the "
                                    "recursion earlier",
                                    name_of(kind), kGroupDepthMax));
  }
  waiter.waits = group;
  groups_.emplace(group, Group{.logic = TaskGroup(kind, count, limit),
                               .waiter = task,
                               .seed = waiter.seeds.next(),
                               .branches = {},
                               .failed = {}});
  advance_group(group);
  return std::nullopt;
}

void ProgramRun::fail_on(const std::exception& error) {
  end_with(internal_failure(error));
}

void ProgramRun::cancel(llm::Failure why) {
  end_with(std::move(why));
}

void ProgramRun::on_deadline() {
  end_with(program_failure(
      kTimeLimit,
      fmt::format("the program ran for longer than its limit of {:.0f} s; make its work "
                  "smaller, or raise --program-seconds",
                  seconds(environment_.options.limits.wall_max))));
}

void ProgramRun::finish() {
  ENSURE(is_over(), "an instance is told to finish while it runs");
  // Of all its calls, also those that were stopped and have ended since.
  ProgramEnd end{.outcome = {}, .usage = usage()};
  if (auto* fault = std::get_if<llm::Failure>(&*outcome_)) {
    end.outcome = std::move(*fault);
  } else {
    end.outcome =
        result_body(environment_.program.name, std::get<json::value>(*outcome_), end.usage);
  }
  if (environment_.trace != nullptr) {
    const auto* why = std::get_if<llm::Failure>(&end.outcome);
    environment_.trace->add({.kind = TraceKind::kInstance,
                             .end = why == nullptr ? TraceEnd::kDone
                                    : why->failure_class == llm::FailureClass::kCancelled
                                        ? TraceEnd::kCancelled
                                        : TraceEnd::kFailed,
                             .instance = id_.value(),
                             .name = start_.id,
                             .task = 1,
                             .began = began_,
                             .ended = environment_.clock.now(),
                             .usage = end.usage.tokens});
  }
  environment_.passes.forget(id_.value());
  done_(std::move(end));
}

// --- contexts ---------------------------------------------------------------------------------

std::variant<ContextId, llm::Failure> ProgramRun::new_context(TaskId task, std::string_view model,
                                                              ContextOptions options) {
  auto found = environment_.models.find(model.empty() ? std::string_view(start_.model) : model);
  if (auto* fault = std::get_if<llm::Failure>(&found)) return std::move(*fault);
  const auto& of = std::get<std::shared_ptr<const ContextModel>>(found);
  const uint64_t seed = tasks_.at(task).seeds.next();
  options.memory = context_memory_;
  auto added = contexts_.add(Context(of, options), seed);
  if (std::holds_alternative<ContextId>(added)) return added;
  // Contexts that nothing refers to may only not have been collected yet.
  lua_->collect();
  return contexts_.add(Context(of, options), seed);
}

std::variant<std::vector<ContextId>, llm::Failure> ProgramRun::fork(TaskId task, ContextId parent,
                                                                    size_t count) {
  const uint64_t seed = tasks_.at(task).seeds.next();
  auto forked = contexts_.fork(parent, count, seed);
  if (std::holds_alternative<std::vector<ContextId>>(forked)) return forked;
  lua_->collect();
  return contexts_.fork(parent, count, seed);
}

std::optional<std::string> ProgramRun::memory_fault() const {
  const size_t bytes_max = environment_.options.limits.memory_bytes_max;
  if (context_memory_->bytes <= bytes_max) return std::nullopt;
  return fmt::format(
      "the program's contexts take more than {}; release those that are done "
      "(ctx:release(), local ctx <close>), or raise --program-memory-mb",
      human_bytes(bytes_max));
}

void ProgramRun::release(ContextId context) {
  contexts_.release(context);
}

// --- calls ------------------------------------------------------------------------------------

// `task` waits for the call that has begun, and its context is busy.
std::optional<llm::Failure> ProgramRun::wait_for(TaskId task, ContextId context,
                                                 const ModelCalls::Begun& begun) {
  if (const auto* fault = std::get_if<llm::Failure>(&begun)) return *fault;
  tasks_.at(task).call = std::get<uint64_t>(begun);
  if (HeldContext* held = contexts_.find(context)) held->is_busy = true;
  return std::nullopt;
}

std::optional<llm::Failure> ProgramRun::begin_generate(TaskId task, ContextId context,
                                                       GenerateOptions options,
                                                       std::optional<uint64_t> seed) {
  const ModelCalls::Caller caller{.task = task, .stage = tasks_.at(task).stage};
  return wait_for(task, context, asking_.generate(caller, context, std::move(options), seed));
}

std::optional<llm::Failure> ProgramRun::begin_score(TaskId task, ContextId context,
                                                    std::vector<std::string> texts) {
  const ModelCalls::Caller caller{.task = task, .stage = tasks_.at(task).stage};
  return wait_for(task, context, asking_.score(caller, context, std::move(texts)));
}

std::optional<llm::Failure> ProgramRun::begin_select(TaskId task, ContextId context,
                                                     std::vector<std::string> choices) {
  const ModelCalls::Caller caller{.task = task, .stage = tasks_.at(task).stage};
  return wait_for(task, context, asking_.select(caller, context, std::move(choices)));
}

std::optional<llm::Failure> ProgramRun::begin_embed(TaskId task, std::string_view model,
                                                    std::vector<std::string> texts,
                                                    bool is_single) {
  const ModelCalls::Caller caller{.task = task, .stage = tasks_.at(task).stage};
  return wait_for(task, {}, asking_.embed(caller, model, std::move(texts), is_single));
}

void ProgramRun::on_call(CallEnded ended) {
  std::optional<OpenCall> call = calls_.end(ended.call, ended.outcome);
  if (!call) return;
  const auto* fault = std::get_if<llm::Failure>(&ended.outcome);
  // The models cannot answer any more: what a program makes of that is no result, its row runs
  // again.
  if (fault != nullptr && fault->failure_class == llm::FailureClass::kBackend)
    return end_with(*fault);
  if (!call->is_wanted) return;
  if (HeldContext* held = contexts_.find(call->context)) held->is_busy = false;
  tasks_.at(call->task).call = 0;
  // The job or the server stops its calls: so does the instance.
  if (fault != nullptr && fault->failure_class == llm::FailureClass::kCancelled)
    return end_with(*fault);
  go_on(call->task, result_of(*call, ended.outcome));
}

// What the task goes on with; the answer becomes part of its context, if that is still there.
WaitResult ProgramRun::result_of(const OpenCall& call, CallOutcomes& outcome) {
  if (auto* fault = std::get_if<llm::Failure>(&outcome)) return std::move(*fault);
  if (auto* reply = std::get_if<EmbedReply>(&outcome))
    return VectorsValue{.vectors = std::move(reply->vectors), .is_single = call.is_single};
  HeldContext* held = contexts_.find(call.context);
  if (const auto* reply = std::get_if<GenerateReply>(&outcome)) {
    if (held != nullptr) {
      held->context.take(call.prompt, reply->choice);
      contexts_.renew_hold(call.context);
    }
    if (call.kind != TraceKind::kSelect) return answer_value(call, *reply);
    auto chosen = chosen_value(call, reply->choice);
    if (auto* fault = std::get_if<llm::Failure>(&chosen)) return std::move(*fault);
    return std::get<SelectedValue>(std::move(chosen));
  }
  const auto& reply = std::get<ScoreReply>(outcome);
  if (call.kind == TraceKind::kScore) return scores_value(call, reply);
  SelectedValue selected = selected_value(call, reply);
  if (held != nullptr) {
    if (auto fault = held->context.take_text(selected.text)) return *std::move(fault);
    contexts_.renew_hold(call.context);
  }
  return selected;
}

// --- the rest ---------------------------------------------------------------------------------

size_t ProgramRun::branches_max() const {
  return environment_.options.limits.children_max;
}

uint64_t ProgramRun::random(TaskId task) {
  return tasks_.at(task).seeds.next();
}

void ProgramRun::set_stage(TaskId task, std::string_view stage) {
  tasks_.at(task).stage = stage;
}

ProgramUsage ProgramRun::usage() const {
  ProgramUsage used = calls_.usage();
  used.passes = environment_.passes.of_instance(id_.value()).passes;
  used.contexts_peak = static_cast<int64_t>(contexts_.peak());
  used.memory_bytes_peak = static_cast<int64_t>(lua_ ? lua_->bytes_peak() : memory_bytes_peak_);
  return used;
}

void ProgramRun::log(std::string_view line) {
  if (environment_.options.on_log) environment_.options.on_log(start_.id, line);
}

}  // namespace windrow::program
