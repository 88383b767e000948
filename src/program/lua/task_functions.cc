// The functions of tasks (all, race, map) and those that are neither of contexts nor of Lua: stage,
// usage, log, print, require, math.random.

#include <fmt/format.h>

#include <string>

#include "program/library/program_library.h"
#include "program/limits.h"
#include "program/lua/lua_display.h"
#include "program/lua/lua_failure.h"
#include "program/lua/lua_tables.h"
#include "program/lua/option_reader.h"
#include "program/lua/running_program.h"

namespace windrow::program {
namespace {

constexpr const char* kModules = "windrow.modules";

// Whether the value at `index` can be called, as a function or by its metatable.
bool is_callable(lua_State* state, int index) {
  if (lua_isfunction(state, index)) return true;
  if (luaL_getmetafield(state, index, "__call") == LUA_TNIL) return false;
  lua_pop(state, 1);
  return true;
}

lua_Integer list_length(lua_State* state, int index, const char* function) {
  const auto count = static_cast<lua_Integer>(lua_rawlen(state, index));
  if (count > kTableLengthMax) {
    raise(state, fmt::format("{}: a list of {} is above the limit of {}", function, count,
                             kTableLengthMax));
  }
  return count;
}

// The items at 1 and, for map, the function at 2 become a group's, and its branches begin.
int begin_group(lua_State* state, GroupKind kind, size_t count, size_t limit) {
  RunningProgram& program = RunningProgram::of(state);
  const bool maps = kind == GroupKind::kMap;
  lua_createtable(state, 3, 0);
  // A copy of the list, as the program may change its own while the branches run.
  lua_createtable(state, static_cast<int>(count), 0);
  for (lua_Integer i = 1; i <= static_cast<lua_Integer>(count); ++i) {
    lua_rawgeti(state, 1, i);
    lua_rawseti(state, -2, i);
  }
  lua_rawseti(state, -2, kGroupItems);
  if (maps) {
    lua_pushvalue(state, 2);
    lua_rawseti(state, -2, kGroupFunction);
  }
  lua_createtable(state, static_cast<int>(count), 0);
  lua_rawseti(state, -2, kGroupValues);
  const uint32_t group = ++program.groups_given;
  program.groups[group] = luaL_ref(state, LUA_REGISTRYINDEX);
  const auto failure = program.host.begin_group(program.current, group, kind, count, limit);
  if (failure) {
    luaL_unref(state, LUA_REGISTRYINDEX, program.groups.at(group));
    program.groups.erase(group);
    raise(state, *failure);
  }
  return wait(state);
}

template <GroupKind kKind>
int run_together(lua_State* state) {
  constexpr const char* kName = kKind == GroupKind::kAll ? "all" : "race";
  check_may_wait(state, kName);
  if (!lua_istable(state, 1)) {
    raise(state, fmt::format("{} takes a list of functions, as in {}{{function() ... end, ...}}",
                             kName, kName));
  }
  const lua_Integer count = list_length(state, 1, kName);
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(state, 1, i);
    if (!is_callable(state, -1)) {
      raise(state,
            fmt::format("{}: number {} of the list is a {}, not a function; a call that waits "
                        "is wrapped, as in function() return ctx:generate() end",
                        kName, i, luaL_typename(state, -1)));
    }
    lua_pop(state, 1);
  }
  const size_t most = RunningProgram::of(state).host.branches_max();
  if (static_cast<size_t>(count) > most) {
    raise(state,
          llm::Failure{.failure_class = llm::FailureClass::kRequest,
                       .status = 422,
                       .code = std::string(kChildrenLimit),
                       .message = fmt::format(
                           "{}: {} branches at a time are above the limit of {}; use map with "
                           "a limit, or raise --program-branches",
                           kName, count, most),
                       .param = {}});
  }
  if (count == 0 && kKind == GroupKind::kRace)
    raise(state, std::string("race: there is no function in the list"));
  lua_settop(state, 1);
  return begin_group(state, kKind, static_cast<size_t>(count), most);
}

int map(lua_State* state) {
  check_may_wait(state, "map");
  if (!lua_istable(state, 1) || !is_callable(state, 2)) {
    raise(state,
          std::string("map takes a list and a function, as in map(list, function(item, index) "
                      "... end)"));
  }
  const lua_Integer count = list_length(state, 1, "map");
  const auto most = static_cast<lua_Integer>(RunningProgram::of(state).host.branches_max());
  lua_Integer limit = most;
  if (!lua_isnoneornil(state, 3)) {
    int is_integer = 0;
    limit = lua_tointegerx(state, 3, &is_integer);
    if (is_integer == 0 || limit < 1)
      raise(state, std::string("map: the limit is a whole number from 1 on"));
    limit = std::min(limit, most);
  }
  lua_settop(state, 2);
  return begin_group(state, GroupKind::kMap, static_cast<size_t>(count),
                     static_cast<size_t>(limit));
}

int stage(lua_State* state) {
  constexpr size_t kStageBytesMax = 100;
  RunningProgram& program = RunningProgram::of(state);
  if (program.current == TaskId())
    raise(state, std::string("stage is called outside the program's function"));
  const std::string name = text_argument(state, 1, "stage");
  if (name.size() > kStageBytesMax)
    raise(state, fmt::format("stage: a name has at most {} bytes", kStageBytesMax));
  program.host.set_stage(program.current, name);
  return 0;
}

int usage(lua_State* state) {
  const ProgramUsage used = RunningProgram::of(state).host.usage();
  lua_createtable(state, 0, 6);
  const auto set = [&](const char* name, int64_t value) {
    lua_pushinteger(state, value);
    lua_setfield(state, -2, name);
  };
  set("prompt_tokens", used.tokens.prompt_tokens);
  set("cached_tokens", used.tokens.cached_tokens);
  set("completion_tokens", used.tokens.completion_tokens);
  set("calls", used.calls);
  set("passes", used.passes);
  set("wasted_tokens", used.wasted_tokens);
  return 1;
}

// Its arguments with tabs between them, as Lua's print has them.
int log(lua_State* state) {
  constexpr size_t kLineBytesMax = 10'000;
  std::string line;
  const int count = lua_gettop(state);
  for (int i = 1; i <= count && line.size() <= kLineBytesMax; ++i) {
    size_t size = 0;
    const char* text = push_display(state, i, &size);
    if (i > 1) line += '\t';
    line.append(text, std::min(size, kLineBytesMax));
    lua_pop(state, 1);
  }
  if (line.size() > kLineBytesMax) line = line.substr(0, kLineBytesMax) + "...";
  RunningProgram::of(state).host.log(line);
  return 0;
}

// A module's table, made when it is first asked for.
int require(lua_State* state) {
  const std::string name = text_argument(state, 1, "require");
  const ShippedScript* module = find_shipped_module(name);
  if (module == nullptr) {
    std::string names;
    for (const ShippedScript& script : shipped_scripts()) {
      if (script.is_module) names += fmt::format("{}{}", names.empty() ? "" : ", ", script.name);
    }
    raise(state, fmt::format("require: there is no module \"{}\"; a program is one file, and the "
                             "modules are {}",
                             name, names));
  }
  luaL_getsubtable(state, LUA_REGISTRYINDEX, kModules);
  lua_pushlstring(state, name.data(), name.size());
  if (lua_rawget(state, -2) != LUA_TNIL) return 1;
  lua_pop(state, 1);
  if (const Result<void> loaded = RunningProgram::of(state).lua.load(
          state, module->source, fmt::format("{}.lua", module->name));
      !loaded) {
    raise(state, loaded.error().message);
  }
  lua_call(state, 0, 1);
  lua_pushlstring(state, name.data(), name.size());
  lua_pushvalue(state, -2);
  lua_rawset(state, -4);
  return 1;
}

// As math.random of Lua's library, with draws of the task's own.
int random(lua_State* state) {
  RunningProgram& program = RunningProgram::of(state);
  if (program.current == TaskId())
    raise(state, std::string("math.random is called outside the program's function"));
  const uint64_t drawn = program.host.random(program.current);
  const int count = lua_gettop(state);
  if (count == 0) {
    constexpr int kDropped = 11;  // of 64 bits a double has 53
    lua_pushnumber(state, static_cast<double>(drawn >> kDropped) * 0x1.0p-53);
    return 1;
  }
  lua_Integer low = 1;
  lua_Integer high = luaL_checkinteger(state, 1);
  if (count >= 2) {
    low = high;
    high = luaL_checkinteger(state, 2);
  }
  if (low > high) raise(state, std::string("math.random: the interval is empty"));
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t offset = span == UINT64_MAX ? drawn : drawn % (span + 1);
  const uint64_t number = static_cast<uint64_t>(low) + offset;
  lua_pushinteger(state, static_cast<lua_Integer>(number));
  return 1;
}

}  // namespace

void open_tasks(lua_State* state) {
  const auto set = [&](const char* name, lua_CFunction function) {
    lua_pushcfunction(state, function);
    lua_setglobal(state, name);
  };
  set("all", guarded<run_together<GroupKind::kAll>>);
  set("race", guarded<run_together<GroupKind::kRace>>);
  set("map", guarded<map>);
  set("stage", guarded<stage>);
  set("usage", guarded<usage>);
  set("log", guarded<log>);
  set("print", guarded<log>);
  set("require", guarded<require>);
  lua_getglobal(state, "math");
  lua_pushcfunction(state, guarded<random>);
  lua_setfield(state, -2, "random");
  lua_pop(state, 1);
}

}  // namespace windrow::program
