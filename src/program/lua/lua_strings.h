// The functions of `string` that programs have: Lua's own where they take bounded time, and find,
// match, gmatch, gsub with lua_patterns.h; without dump. rep, format and pack as Lua has them,
// within the state's memory.
#pragma once

#include <lua.hpp>

namespace windrow::program {

// Sets the global `string` and the metatable of strings.
void open_strings(lua_State* state);

}  // namespace windrow::program
