// What programs see of values as text. Lua writes tables, functions and userdata with their
// address, which differs from run to run; here they are "table", "function", or the __name of
// their metatable.
#pragma once

#include <lua.hpp>

#include <cstddef>

namespace windrow::program {

// Pushes the value at `index` as text, __tostring honoured, as luaL_tolstring does otherwise. The
// text and its `size` (may be null) are valid while it is on the stack.
const char* push_display(lua_State* state, int index, size_t* size);

// Replaces the global tostring, and string.format, which refuses %p.
void open_display(lua_State* state);

}  // namespace windrow::program
