// RunningProgram: what the functions that Lua calls have to know: the host, the interpreter, and
// which task runs. It is the owner of its LuaState. Headers of lua/ only.
#pragma once

#include <lua.hpp>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "program/lua/lua_state.h"
#include "program/lua/program_host.h"

namespace windrow::program {

struct RunningProgram {
  RunningProgram(const ProgramLimits& limits, const Clock& clock, ProgramHost& the_host)
      : host(the_host), lua(limits, clock, this) {}

  static RunningProgram& of(lua_State* state) {
    return *static_cast<RunningProgram*>(LuaState::of(state).owner());
  }

  ProgramHost& host;
  LuaState lua;
  TaskId current;  // 0: what is outside the program's function runs

  // The tables of groups, by number, as references in Lua's registry: {functions or items, function
  // of map, values}.
  boost::unordered_flat_map<uint32_t, int> groups;
  uint32_t groups_given = 0;
};

// Members of a group's table.
inline constexpr lua_Integer kGroupItems = 1;
inline constexpr lua_Integer kGroupFunction = 2;  // of map; nil: the items are the functions
inline constexpr lua_Integer kGroupValues = 3;

// Raises an error unless the running task may call `function`, which waits.
void check_may_wait(lua_State* state, const char* function);

// Suspends the task. What LuaProgram::step(task, result) brings is what the calling function
// returns, or raises. To be returned by the function: `return wait(state);`.
int wait(lua_State* state);

// The functions of contexts: the global Context.
void open_contexts(lua_State* state);

// The functions of tasks, and the rest: all, race, map, stage, usage, log, print, require,
// math.random.
void open_tasks(lua_State* state);

}  // namespace windrow::program
