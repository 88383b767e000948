// The functions `pairs` and `next` that programs have. Lua's own visit the keys of a table in the
// order of their hashes, which differs from run to run. These have a fixed order: numbers
// ascending, then strings by their bytes, then false and true, then the rest in any order.
//
//   pairs(t)      visits the keys that t has when the loop begins: what is removed meanwhile is
//                 left out, what is added is not visited, and values are those of the moment.
//                 Honours __pairs.
//   next(t)       the first key and its value; nil where there is none.
//   next(t, key)  an error: the key after another would take a sort.
//
// Both read the whole table, which counts as instructions of the program.
#pragma once

#include <lua.hpp>

namespace windrow::program {

// Sets them. `state` belongs to a LuaState.
void open_pairs(lua_State* state);

}  // namespace windrow::program
