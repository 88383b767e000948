#include "program/lua/lua_sandbox.h"

#include <array>

#include "program/lua/lua_display.h"
#include "program/lua/lua_pairs.h"
#include "program/lua/lua_state.h"
#include "program/lua/lua_strings.h"
#include "program/lua/lua_tables.h"

namespace windrow::program {
namespace {

// Lua's own function, the first upvalue, called in this frame.
int call_basic_function(lua_State* state) {
  return lua_tocfunction(state, lua_upvalueindex(1))(state);
}

bool has_field(lua_State* state, int index, const char* name) {
  lua_pushstring(state, name);
  const bool has = lua_rawget(state, index) != LUA_TNIL;
  lua_pop(state, 1);
  return has;
}

// Finalizers run without hooks, so a program must not have any. A field __gc that is added to a
// metatable later has no effect in Lua. Weak tables can make a collection, which runs without hooks
// too, take the square of their entries; a field __mode that is added later does have an effect.
int set_metatable(lua_State* state) {
  if (lua_type(state, 2) == LUA_TTABLE) {
    if (has_field(state, 2, "__gc"))
      return luaL_error(state, "setmetatable: __gc is not available to programs; use <close>");
    if (has_field(state, 2, "__mode")) {
      return luaL_error(state,
                        "setmetatable: __mode (a weak table) is not available to programs; set "
                        "entries to nil when they are not wanted any more");
    }
  }
  return call_basic_function(state);
}

// The handler of an xpcall, the first upvalue. The error of a limit comes from a hook, where no
// other hook runs, so a handler that does not end would never end.
int handle_error(lua_State* state) {
  if (LuaState::of(state).is_forbidden()) return 1;
  lua_pushvalue(state, lua_upvalueindex(1));
  lua_insert(state, 1);
  lua_call(state, lua_gettop(state) - 1, 1);
  return 1;
}

// An error is an exception of C++: to catch one takes as long as hundreds of instructions.
int call_and_catch(lua_State* state) {
  constexpr int64_t kInstructionsOfCatch = 200;
  LuaState::charge(state, kInstructionsOfCatch);
  return call_basic_function(state);
}

int call_with_handler(lua_State* state) {
  luaL_checktype(state, 2, LUA_TFUNCTION);
  lua_pushvalue(state, 2);
  lua_pushcclosure(state, handle_error, 1);
  lua_replace(state, 2);
  return call_and_catch(state);
}

// A function that takes time in proportion to the strings that are its arguments: it walks over
// them, or reads each as a number.
int charge_strings(lua_State* state) {
  constexpr size_t kBytesPerInstruction = 8;
  size_t bytes = 0;
  for (int i = lua_gettop(state); i > 0; --i) {
    if (lua_type(state, i) == LUA_TSTRING) bytes += lua_rawlen(state, i);
  }
  LuaState::charge(state, static_cast<int64_t>(bytes / kBytesPerInstruction));
  return call_basic_function(state);
}

// Replaces a function of the table on top of the stack by one that ends with calling it.
void replace_function(lua_State* state, const char* name, lua_CFunction function) {
  lua_getfield(state, -1, name);
  lua_pushcclosure(state, function, 1);
  lua_setfield(state, -2, name);
}

void remove_function(lua_State* state, const char* name) {
  lua_pushnil(state);
  lua_setfield(state, -2, name);
}

void open_basic(lua_State* state) {
  luaL_requiref(state, LUA_GNAME, luaopen_base, 0);
  for (const char* name :
       std::array{"load", "loadstring", "dofile", "loadfile", "collectgarbage", "print", "warn"}) {
    remove_function(state, name);
  }
  replace_function(state, "setmetatable", set_metatable);
  replace_function(state, "pcall", call_and_catch);
  replace_function(state, "xpcall", call_with_handler);
  replace_function(state, "tonumber", charge_strings);
  lua_pop(state, 1);
}

void protect_string_metatable(lua_State* state) {
  lua_pushliteral(state, "");
  lua_getmetatable(state, -1);
  lua_pushliteral(state, "string");
  lua_setfield(state, -2, "__metatable");
  lua_pop(state, 2);
}

void open_utf8(lua_State* state) {
  luaL_requiref(state, LUA_UTF8LIBNAME, luaopen_utf8, 1);
  for (const char* name : std::array{"char", "len", "codepoint", "offset"}) {
    replace_function(state, name, charge_strings);
  }
  lua_pop(state, 1);
}

void open_math(lua_State* state) {
  luaL_requiref(state, LUA_MATHLIBNAME, luaopen_math, 1);
  // The others are Lua 5.2's: some builds of Lua have them, some do not.
  for (const char* name : std::array{"random", "randomseed", "cosh", "sinh", "tanh", "pow", "frexp",
                                     "ldexp", "log10", "atan2"}) {
    remove_function(state, name);
  }
  replace_function(state, "max", charge_strings);
  replace_function(state, "min", charge_strings);
  lua_pop(state, 1);
}

// Functions that lua_strings.h leaves as they are in Lua.
void charge_string_functions(lua_State* state) {
  lua_getglobal(state, LUA_STRLIBNAME);
  replace_function(state, "char", charge_strings);
  replace_function(state, "pack", charge_strings);
  lua_pop(state, 1);
}

}  // namespace

void open_sandbox(lua_State* state) {
  open_basic(state);
  open_pairs(state);
  open_strings(state);
  charge_string_functions(state);
  open_display(state);
  protect_string_metatable(state);
  open_tables(state);
  open_utf8(state);
  open_math(state);
}

}  // namespace windrow::program
