// The functions of `string` that programs have: Lua's own where their time is bounded by what they
// read and make, and find, match, gmatch and gsub with lua_patterns.h, and rep, whose time in Lua
// is that of its count even where the text is empty. Without dump.
//
// A call of the four matches within a budget of steps, and its steps count as instructions of the
// program. They behave as Lua's own, texts of errors included; a used up budget is the error
//   string.find: the pattern takes too long (more than 2000192 steps); use a simpler one
// As in Lua, a function that gsub calls must not wait.
#pragma once

#include <lua.hpp>

#include <cstddef>
#include <cstdint>

namespace windrow::program {

// The budget of a call: some 10 ms, and enough for a pattern that reads a long text once.
inline constexpr int64_t kPatternSteps = 2'000'000;
inline constexpr int64_t kPatternStepsPerByte = 16;

// Sets the global `string` and the metatable of strings, with Lua's own arithmetic ("10" + 1).
// lua_sandbox.h closes it to programs. `state` belongs to a LuaState.
void open_strings(lua_State* state);

}  // namespace windrow::program
