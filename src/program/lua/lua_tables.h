// The functions of `table` that programs have. Lua's own run for as long as a length says that a
// table reports, or a range that is given; these refuse more than kTableLengthMax, so none keeps
// the thread for long: a hook does not reach into a C function.
#pragma once

#include <lua.hpp>

#include <cstdint>

namespace windrow::program {

inline constexpr int64_t kTableLengthMax = 1 << 20;

// The values that unpack returns at once; they lie on the stack (kStackSlotsMax).
inline constexpr int64_t kUnpackedMax = 8000;

// Sets the global `table`: insert, remove, concat, unpack, pack, move, sort.
void open_tables(lua_State* state);

}  // namespace windrow::program
