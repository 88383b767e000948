// The sandbox: which of Lua's own functions programs have. Everything else is not there.
#pragma once

#include <lua.hpp>

namespace windrow::program {

// Opens it in a fresh state: the basic functions (without load, dofile, loadfile, collectgarbage,
// print; pairs and next are those of lua_pairs.h, tostring that of lua_display.h), string
// (lua_strings.h), table (lua_tables.h), utf8, and math without random. A metatable with __gc or
// __mode is refused by setmetatable, because finalizers and the collector run without hooks; so is
// a change of the metatable of strings.
void open_sandbox(lua_State* state);

}  // namespace windrow::program
