#include "program/lua/lua_tables.h"

#include <array>
#include <bit>
#include <limits>
#include <string>

#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// An element that is read and written costs about as much as this many instructions.
constexpr int64_t kElementCost = 4;

const char* table_function_name(lua_State* state) {
  return lua_tostring(state, lua_upvalueindex(2));
}

// Calls Lua's own function in this frame. The work of `count` elements is charged before.
int call_table_function(lua_State* state, int64_t count) {
  LuaState::charge(state, count * kElementCost);
  return lua_tocfunction(state, lua_upvalueindex(1))(state);
}

// Refuses `first`..`last` when that is too long; otherwise its length.
int64_t checked_range(lua_State* state, lua_Integer first, lua_Integer last,
                      int64_t most = kTableLengthMax) {
  if (first > last) return 0;
  const uint64_t count = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
  if (count >= static_cast<uint64_t>(most)) {
    const std::string given =
        count == std::numeric_limits<uint64_t>::max() ? "2^64" : std::to_string(count + 1);
    luaL_error(state, "table.%s: a range of %s is above the limit of %d",
               table_function_name(state), given.c_str(), static_cast<int>(most));
  }
  return static_cast<int64_t>(count) + 1;
}

// The length that Lua's function will find. One with __len could give another answer then.
lua_Integer plain_length(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  if (luaL_getmetafield(state, 1, "__len") != LUA_TNIL) {
    luaL_error(state, "table.%s: a table whose metatable has __len is not taken",
               table_function_name(state));
  }
  return static_cast<lua_Integer>(lua_rawlen(state, 1));
}

int insert_value(lua_State* state) {
  const lua_Integer length = plain_length(state);
  if (lua_gettop(state) != 3) return call_table_function(state, 1);
  const lua_Integer position = luaL_checkinteger(state, 2);
  if (position < 1 || position > length)
    return call_table_function(state, 1);  // appended, or an error
  return call_table_function(state, checked_range(state, position, length) + 1);
}

int remove_value(lua_State* state) {
  const lua_Integer length = plain_length(state);
  const lua_Integer position = luaL_optinteger(state, 2, length);
  if (position < 1 || position > length) return call_table_function(state, 1);
  return call_table_function(state, checked_range(state, position, length));
}

int move_values(lua_State* state) {
  const int64_t count =
      checked_range(state, luaL_checkinteger(state, 2), luaL_checkinteger(state, 3));
  return call_table_function(state, count);
}

// What it costs to compare the first `count` values once, apart from the calls: long strings.
int64_t cost_of_strings(lua_State* state, int64_t count) {
  constexpr size_t kShortBytes = 64;
  constexpr size_t kBytesPerInstruction = 4;
  size_t bytes = 0;
  for (int64_t i = 1; i <= count; ++i) {
    if (lua_geti(state, 1, i) == LUA_TSTRING) {
      const size_t size = lua_rawlen(state, -1);
      if (size > kShortBytes) bytes += size;
    }
    lua_pop(state, 1);
  }
  return static_cast<int64_t>(bytes / kBytesPerInstruction);
}

int sort_values(lua_State* state) {
  const int64_t count = checked_range(state, 1, plain_length(state));
  const auto comparisons = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(count)));
  LuaState::charge(state, count * comparisons * kElementCost);
  const bool has_order = !lua_isnoneornil(state, 2);
  if (!has_order) LuaState::charge(state, comparisons * cost_of_strings(state, count));
  return call_table_function(state, 0);
}

// The length is found once, and given to Lua's function as the end of the range.
void fix_end(lua_State* state, int index) {
  if (lua_isnoneornil(state, index)) {
    lua_settop(state, index);
    lua_pushinteger(state, luaL_len(state, 1));
    lua_replace(state, index);
  }
}

int concat_values(lua_State* state) {
  lua_settop(state, 4);
  fix_end(state, 4);
  const int64_t count =
      checked_range(state, luaL_optinteger(state, 3, 1), luaL_checkinteger(state, 4));
  return call_table_function(state, count);
}

int unpack_values(lua_State* state) {
  lua_settop(state, 3);
  fix_end(state, 3);
  const int64_t count =
      checked_range(state, luaL_optinteger(state, 2, 1), luaL_checkinteger(state, 3), kUnpackedMax);
  return call_table_function(state, count);
}

struct TableFunction {
  const char* name;
  lua_CFunction function;
};

}  // namespace

void open_tables(lua_State* state) {
  luaL_requiref(state, LUA_TABLIBNAME, luaopen_table, 1);
  // pack is bounded by the stack.
  for (const TableFunction& guard :
       std::array{TableFunction{"insert", insert_value}, TableFunction{"remove", remove_value},
                  TableFunction{"move", move_values}, TableFunction{"sort", sort_values},
                  TableFunction{"concat", concat_values}, TableFunction{"unpack", unpack_values}}) {
    lua_getfield(state, -1, guard.name);
    lua_pushstring(state, guard.name);
    lua_pushcclosure(state, guard.function, 2);
    lua_setfield(state, -2, guard.name);
  }
  lua_pop(state, 1);
}

}  // namespace windrow::program
