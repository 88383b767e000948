#include "program/lua/lua_program.h"

#include <fmt/format.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "base/ensure.h"
#include "program/lua/lua_failure.h"
#include "program/lua/lua_json.h"
#include "program/lua/lua_sandbox.h"
#include "program/lua/lua_state.h"
#include "program/lua/running_program.h"

namespace windrow::program {
namespace {

// What Lua writes into the traceback of a task.
constexpr int kTracebackLevel = 0;

// A task goes on behind the call that waited: with true and values, or false and an error.
int go_on(lua_State* state, int /*status*/, lua_KContext arguments) {
  const int base = static_cast<int>(arguments);
  if (lua_toboolean(state, base + 1) == 0) {
    lua_settop(state, base + 2);
    return lua_error(state);
  }
  return lua_gettop(state) - base - 1;
}

void set_text(lua_State* state, const char* name, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
  lua_setfield(state, -2, name);
}

void set_integer(lua_State* state, const char* name, int64_t value) {
  lua_pushinteger(state, value);
  lua_setfield(state, -2, name);
}

int answer_to_string(lua_State* state) {
  lua_pushliteral(state, "text");
  lua_rawget(state, 1);
  return 1;
}

constexpr const char* kAnswers = "windrow.Answer";

void open_answers(lua_State* state) {
  luaL_newmetatable(state, kAnswers);
  lua_pushcfunction(state, answer_to_string);
  lua_setfield(state, -2, "__tostring");
  lua_pushliteral(state, "answer");
  lua_setfield(state, -2, "__metatable");
  lua_pop(state, 1);
}

// --- what a call brought, as values of Lua: how many were pushed ------------------------------

int push_value(lua_State* state, const AnswerValue& answer) {
  lua_createtable(state, 0, 8);
  set_text(state, "text", answer.text);
  if (answer.thought) set_text(state, "thought", *answer.thought);
  set_text(state, "finish", llm::to_string(answer.finish));
  lua_pushboolean(state, answer.is_truncated ? 1 : 0);
  lua_setfield(state, -2, "truncated");
  if (answer.value) {
    push_json(state, *answer.value);
    lua_setfield(state, -2, "value");
  }
  set_integer(state, "prompt_tokens", answer.usage.prompt_tokens);
  set_integer(state, "cached_tokens", answer.usage.cached_tokens);
  set_integer(state, "completion_tokens", answer.usage.completion_tokens);
  luaL_setmetatable(state, kAnswers);
  return 1;
}

int push_scores(lua_State* state, const std::vector<ScoredText>& scores) {
  lua_createtable(state, static_cast<int>(scores.size()), 0);
  lua_Integer place = 0;
  for (const ScoredText& score : scores) {
    lua_createtable(state, 0, 4);
    set_text(state, "text", score.text);
    lua_pushnumber(state, score.logprob);
    lua_setfield(state, -2, "logprob");
    set_integer(state, "tokens", score.tokens);
    lua_pushnumber(state, score.mean());
    lua_setfield(state, -2, "mean");
    lua_rawseti(state, -2, ++place);
  }
  return 1;
}

int push_value(lua_State* state, const ScoresValue& scores) {
  return push_scores(state, scores.scores);
}

int push_value(lua_State* state, const SelectedValue& selected) {
  lua_pushlstring(state, selected.text.data(), selected.text.size());
  lua_pushinteger(state, static_cast<lua_Integer>(selected.index) + 1);
  push_scores(state, selected.scores);
  return 3;
}

int push_value(lua_State* state, const VectorsValue& vectors) {
  lua_createtable(state, static_cast<int>(vectors.vectors.size()), 0);
  lua_Integer place = 0;
  for (const std::vector<float>& vector : vectors.vectors) {
    lua_createtable(state, static_cast<int>(vector.size()), 0);
    for (size_t i = 0; i < vector.size(); ++i) {
      lua_pushnumber(state, vector[i]);
      lua_rawseti(state, -2, static_cast<lua_Integer>(i) + 1);
    }
    lua_rawseti(state, -2, ++place);
  }
  if (vectors.is_single) lua_rawgeti(state, -1, 1);
  return 1;
}

int push_value(lua_State* state, const GroupValue& group) {
  const RunningProgram& program = RunningProgram::of(state);
  lua_rawgeti(state, LUA_REGISTRYINDEX, program.groups.at(group.group));
  lua_rawgeti(state, -1, kGroupValues);
  if (!group.winner) return 1;
  const lua_Integer place = static_cast<lua_Integer>(*group.winner) + 1;
  lua_rawgeti(state, -1, place);
  lua_pushinteger(state, place);
  return 2;
}

}  // namespace

void check_may_wait(lua_State* state, const char* function) {
  if (RunningProgram::of(state).current == TaskId()) {
    raise(state, fmt::format("{} is called outside the program's function; call it in the function "
                             "that the program returns",
                             function));
  }
  if (lua_isyieldable(state) == 0) {
    raise(state,
          fmt::format("{} waits, and nothing may wait here: within string.gsub, table.sort, a "
                      "metamethod or a <close> handler; call it before or afterwards",
                      function));
  }
}

int wait(lua_State* state) {
  return lua_yieldk(state, 0, lua_gettop(state), go_on);
}

// --- the program ------------------------------------------------------------------------------

struct LuaProgram::State {
  struct Task {
    lua_State* coroutine = nullptr;
    int reference = LUA_NOREF;  // keeps the coroutine
    int results = 0;            // on its stack, once it has returned
    int64_t instructions = 0;   // since it went on last
    bool has_begun = false;
    std::string trail;  // tracebacks of branches whose error was raised here
  };
  // The error of a branch, until the task that waits for it has it.
  struct BranchFault {
    int reference = LUA_NOREF;
    std::string trail;
  };

  State(const ProgramLimits& limits, const Clock& clock, ProgramHost& host)
      : program(limits, clock, host) {}

  lua_State* main() { return program.lua.main(); }
  StepEnd run(TaskId id, int arguments);
  bool try_in(lua_State* state, const std::function<void(lua_State*)>& body);
  std::string traceback(lua_State* coroutine);
  void add(TaskId id, const std::function<int(lua_State* coroutine)>& push);

  RunningProgram program;
  int function = LUA_NOREF;  // the program's
  boost::unordered_flat_map<TaskId, Task, std::hash<TaskId>> tasks;
  boost::unordered_flat_map<TaskId, BranchFault, std::hash<TaskId>> faults;
};

// Runs what may need memory of Lua's; false where there was none.
bool LuaProgram::State::try_in(lua_State* state, const std::function<void(lua_State*)>& body) {
  std::string fault;
  if (protect(state, body, &fault)) return true;
  if (fault == "not enough memory") {
    program.lua.forbid_for_memory();
  } else {
    program.lua.forbid(kProgramError, fault);
  }
  return false;
}

StepEnd LuaProgram::State::run(TaskId id, int arguments) {
  Task& task = tasks.at(id);
  program.current = id;
  program.lua.set_instructions(task.instructions);
  int results = 0;
  const LuaOutcome outcome = program.lua.resume(task.coroutine, arguments, &results);
  // What ran may have added tasks, which moves them.
  Task& after = tasks.at(id);
  after.instructions = program.lua.instructions();
  after.results = results;
  program.current = TaskId();
  switch (outcome) {
    case LuaOutcome::kReturned:
      return StepEnd::kReturned;
    case LuaOutcome::kSuspended:
      return StepEnd::kWaits;
    case LuaOutcome::kSliced:
      return StepEnd::kSliced;
    case LuaOutcome::kFailed:
      break;
  }
  return StepEnd::kFailed;
}

std::string LuaProgram::State::traceback(lua_State* coroutine) {
  std::string text;
  const bool made = protect(
      main(),
      [&](lua_State* state) {
        luaL_traceback(state, coroutine, nullptr, kTracebackLevel);
        text = lua_tostring(state, -1);
      },
      nullptr);
  // Of a coroutine that has not begun there is nothing behind the first line.
  return made && text.find('\n') != std::string::npos ? text : "";
}

// `push` puts a function and its arguments on the stack of the new coroutine and returns the number
// of arguments.
void LuaProgram::State::add(TaskId id, const std::function<int(lua_State* coroutine)>& push) {
  Task task;
  int arguments = 0;
  try_in(main(), [&](lua_State* state) {
    lua_State* const made = lua_newthread(state);
    task.reference = luaL_ref(state, LUA_REGISTRYINDEX);
    task.coroutine = made;  // it is kept now: before, an error would leave it to the collector
    luaL_checkstack(task.coroutine, 4, nullptr);
    arguments = push(task.coroutine);
  });
  task.results = arguments;
  tasks[id] = std::move(task);
}

LuaProgram::LuaProgram(const ProgramLimits& limits, const Clock& clock, ProgramHost& host)
    : state_(std::make_unique<State>(limits, clock, host)) {
  State& s = *state_;
  s.try_in(s.main(), [](lua_State* state) {
    open_failures(state);
    open_answers(state);
    open_json(state);
    open_contexts(state);
    open_tasks(state);
  });
}

LuaProgram::~LuaProgram() = default;

Result<void> LuaProgram::load(std::string_view source, const std::string& name) {
  State& s = *state_;
  lua_State* main = s.main();
  const auto fault = [&](const std::string& text) { return Error{ErrorKind::kInvalid, text}; };
  if (Result<void> compiled = s.program.lua.load(main, source, name); !compiled) return compiled;
  // Runs as a coroutine, so that its instructions are counted and its traceback is at hand.
  State::Task task;
  std::string problem;
  if (!s.try_in(main, [&](lua_State* state) {
        task.coroutine = lua_newthread(state);
        task.reference = luaL_ref(state, LUA_REGISTRYINDEX);
      })) {
    return fault(fmt::format("{}: the memory limit of programs is too small to load it", name));
  }
  lua_xmove(main, task.coroutine, 1);
  int results = 0;
  LuaOutcome outcome = LuaOutcome::kSliced;
  s.program.lua.set_instructions(0);
  int arguments = 0;
  while (outcome == LuaOutcome::kSliced) {
    outcome = s.program.lua.resume(task.coroutine, arguments, &results);
    arguments = 0;
  }
  Result<void> loaded;
  if (outcome != LuaOutcome::kReturned) {
    llm::Failure failure = program::failure_of(task.coroutine, -1);
    if (s.program.lua.is_forbidden()) failure.message = s.program.lua.forbidden_message();
    loaded =
        fault(failure.message.starts_with(name) ? failure.message
                                                : fmt::format("{}: {}", name, failure.message));
  } else if (results == 0 || !lua_isfunction(task.coroutine, -results)) {
    loaded = fault(
        fmt::format("{}: a program returns a function that gets the row's input, as in "
                    "`return function(input) ... end`; this one returns {}",
                    name, results == 0 ? "nothing" : luaL_typename(task.coroutine, -results)));
  } else {
    lua_settop(task.coroutine, lua_gettop(task.coroutine) - results + 1);
    s.try_in(main, [&](lua_State* state) {
      lua_xmove(task.coroutine, state, 1);
      s.function = luaL_ref(state, LUA_REGISTRYINDEX);
    });
  }
  s.program.lua.close(task.coroutine);
  luaL_unref(main, LUA_REGISTRYINDEX, task.reference);
  return loaded;
}

void LuaProgram::begin_main(const boost::json::value& input) {
  State& s = *state_;
  s.add(TaskId(1), [&](lua_State* coroutine) {
    lua_rawgeti(coroutine, LUA_REGISTRYINDEX, s.function);
    // No input, so that `input or ...` works; within values null is json.null.
    if (input.is_null()) {
      lua_pushnil(coroutine);
    } else {
      push_json(coroutine, input);
    }
    return 1;
  });
}

void LuaProgram::begin_branch(TaskId task, uint32_t group, size_t index) {
  State& s = *state_;
  s.add(task, [&](lua_State* coroutine) {
    const lua_Integer place = static_cast<lua_Integer>(index) + 1;
    lua_rawgeti(coroutine, LUA_REGISTRYINDEX, s.program.groups.at(group));
    const bool maps = lua_rawgeti(coroutine, -1, kGroupFunction) != LUA_TNIL;
    lua_rawgeti(coroutine, -2, kGroupItems);
    lua_rawgeti(coroutine, -1, place);
    lua_remove(coroutine, -2);
    if (!maps) {
      lua_replace(coroutine, 1);
      lua_settop(coroutine, 1);
      return 0;
    }
    lua_pushinteger(coroutine, place);
    lua_remove(coroutine, 1);  // the group
    return 2;
  });
}

StepEnd LuaProgram::step(TaskId id) {
  State& s = *state_;
  State::Task& task = s.tasks.at(id);
  if (task.coroutine == nullptr) return StepEnd::kFailed;
  const int arguments = std::exchange(task.has_begun, true) ? 0 : task.results;
  return s.run(id, arguments);
}

StepEnd LuaProgram::step(TaskId id, const WaitResult& result) {
  State& s = *state_;
  State::Task& task = s.tasks.at(id);
  lua_State* coroutine = task.coroutine;
  task.instructions = 0;
  task.trail.clear();
  int pushed = 0;
  bool works = true;
  // The values are made on the main stack: that of a suspended coroutine takes arguments alone.
  const bool made = s.try_in(s.main(), [&](lua_State* state) {
    if (const auto* failure = std::get_if<llm::Failure>(&result)) {
      works = false;
      push_failure(state, *failure);
      pushed = 1;
    } else if (const auto* branch = std::get_if<BranchError>(&result)) {
      works = false;
      const auto fault = s.faults.find(TaskId(branch->task));
      ENSURE(fault != s.faults.end(), "branch {} has not failed", branch->task);
      lua_rawgeti(state, LUA_REGISTRYINDEX, fault->second.reference);
      luaL_unref(state, LUA_REGISTRYINDEX, fault->second.reference);
      task.trail = std::move(fault->second.trail);
      s.faults.erase(fault);
      pushed = 1;
    } else {
      std::visit(
          [&]<class Value>(const Value& value) {
            if constexpr (requires { push_value(state, value); }) pushed = push_value(state, value);
          },
          result);
    }
    luaL_checkstack(coroutine, pushed + 1, nullptr);
    lua_pushboolean(coroutine, works ? 1 : 0);
    lua_xmove(state, coroutine, pushed);
  });
  // Without memory it goes on all the same, into the error that each instruction is now.
  if (!made) {
    lua_settop(coroutine, lua_gettop(coroutine));
    return s.run(id, 0);
  }
  return s.run(id, pushed + 1);
}

std::variant<boost::json::value, llm::Failure> LuaProgram::result(size_t bytes_max) {
  State& s = *state_;
  const State::Task& task = s.tasks.at(TaskId(1));
  if (task.results == 0) return boost::json::value();
  auto made = json_of_lua(task.coroutine, -task.results, "the result", bytes_max);
  if (auto* fault = std::get_if<LuaJsonFault>(&made)) {
    return llm::Failure{.failure_class = llm::FailureClass::kRequest,
                        .status = 422,
                        .code = std::string(fault->is_too_long ? kResultLimit : kProgramError),
                        .message = std::move(fault->message),
                        .param = {}};
  }
  return std::get<boost::json::value>(std::move(made));
}

llm::Failure LuaProgram::failure_of(TaskId id) {
  State& s = *state_;
  const auto found = s.tasks.find(id);
  llm::Failure failure{.failure_class = llm::FailureClass::kRequest,
                       .status = 422,
                       .code = std::string(kProgramError),
                       .message = "the program failed",
                       .param = {}};
  const bool has_stack = found != s.tasks.end() && found->second.coroutine != nullptr;
  if (has_stack && lua_gettop(found->second.coroutine) > 0)
    failure = program::failure_of(found->second.coroutine, -1);
  if (s.program.lua.is_forbidden()) {
    failure.code = s.program.lua.forbidden_code();
    failure.message = s.program.lua.forbidden_message();
  }
  if (!has_stack) return failure;
  for (const std::string& part : {found->second.trail, s.traceback(found->second.coroutine)}) {
    if (!part.empty()) failure.message += "\n" + part;
  }
  return failure;
}

void LuaProgram::keep_value(TaskId id, uint32_t group, size_t index) {
  State& s = *state_;
  const State::Task& task = s.tasks.at(id);
  if (task.results == 0) return;
  s.try_in(s.main(), [&](lua_State* state) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, s.program.groups.at(group));
    lua_rawgeti(state, -1, kGroupValues);
    lua_pushvalue(task.coroutine, -task.results);
    lua_xmove(task.coroutine, state, 1);
    lua_rawseti(state, -2, static_cast<lua_Integer>(index) + 1);
  });
}

void LuaProgram::keep_error(TaskId id) {
  State& s = *state_;
  const State::Task& task = s.tasks.at(id);
  State::BranchFault fault;
  if (task.coroutine != nullptr) fault.trail = s.traceback(task.coroutine);
  if (!task.trail.empty()) fault.trail = task.trail + "\n" + fault.trail;
  s.try_in(s.main(), [&](lua_State* state) {
    if (task.coroutine != nullptr && lua_gettop(task.coroutine) > 0) {
      lua_pushvalue(task.coroutine, -1);
      lua_xmove(task.coroutine, state, 1);
    } else {
      lua_pushliteral(state, "the branch failed");
    }
    fault.reference = luaL_ref(state, LUA_REGISTRYINDEX);
  });
  s.faults[id] = std::move(fault);
}

void LuaProgram::end(TaskId id) {
  State& s = *state_;
  const auto found = s.tasks.find(id);
  if (found == s.tasks.end()) return;
  const State::Task task = found->second;
  if (task.coroutine != nullptr) {
    // Its <close> handlers may call functions of the program, and have a turn of their own.
    s.program.current = id;
    s.program.lua.set_instructions(0);
    s.program.lua.close(task.coroutine);
    s.program.current = TaskId();
    luaL_unref(s.main(), LUA_REGISTRYINDEX, task.reference);
  }
  s.tasks.erase(id);
}

void LuaProgram::drop_group(uint32_t group) {
  State& s = *state_;
  const auto found = s.program.groups.find(group);
  if (found == s.program.groups.end()) return;
  luaL_unref(s.main(), LUA_REGISTRYINDEX, found->second);
  s.program.groups.erase(found);
}

void LuaProgram::drop_result(const WaitResult& result) {
  if (const auto* group = std::get_if<GroupValue>(&result)) return drop_group(group->group);
  const auto* branch = std::get_if<BranchError>(&result);
  if (branch == nullptr) return;
  State& s = *state_;
  const auto fault = s.faults.find(TaskId(branch->task));
  if (fault == s.faults.end()) return;  // it was raised
  luaL_unref(s.main(), LUA_REGISTRYINDEX, fault->second.reference);
  s.faults.erase(fault);
}

bool LuaProgram::is_forbidden() const {
  return state_->program.lua.is_forbidden();
}

void LuaProgram::collect() {
  state_->program.lua.collect();
}

size_t LuaProgram::bytes() const {
  return state_->program.lua.bytes();
}

size_t LuaProgram::bytes_peak() const {
  return state_->program.lua.bytes_peak();
}

}  // namespace windrow::program
