#include "program/lua/lua_display.h"

#include <string_view>

#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

bool has_address(lua_State* state, int index) {
  switch (lua_type(state, index)) {
    case LUA_TTABLE:
    case LUA_TFUNCTION:
    case LUA_TUSERDATA:
    case LUA_TLIGHTUSERDATA:
    case LUA_TTHREAD:
      return true;
    default:
      return false;
  }
}

int display_value(lua_State* state) {
  luaL_checkany(state, 1);
  push_display(state, 1, nullptr);
  return 1;
}

constexpr size_t kReadBytesPerInstruction = 8;

// Lua's own function, the first upvalue, with texts in the place of values that it would show with
// their address.
int format_values(lua_State* state) {
  size_t size = 0;
  const char* text = luaL_checklstring(state, 1, &size);
  const std::string_view format(text, size);
  const int last = lua_gettop(state);
  size_t read_bytes = 0;  // of strings that stand for numbers
  int argument = 1;
  for (size_t place = format.find('%'); place != std::string_view::npos;
       place = format.find('%', place + 1)) {
    if (format.substr(place + 1).starts_with('%')) {
      ++place;
      continue;
    }
    place = format.find_first_not_of("-+ #.0123456789", place + 1);
    if (place == std::string_view::npos) break;
    ++argument;
    if (format[place] == 'p') {
      return luaL_error(state,
                        "string.format: %%p is not available to programs, as addresses differ "
                        "from run to run; use %%s");
    }
    if (argument > last) continue;
    if (format[place] == 's' && has_address(state, argument)) {
      push_display(state, argument, nullptr);
      lua_replace(state, argument);
    } else if (format[place] != 's' && lua_type(state, argument) == LUA_TSTRING) {
      read_bytes += lua_rawlen(state, argument);
    }
  }
  LuaState::charge(state, static_cast<int64_t>(read_bytes / kReadBytesPerInstruction));
  return lua_tocfunction(state, lua_upvalueindex(1))(state);
}

}  // namespace

const char* push_display(lua_State* state, int index, size_t* size) {
  index = lua_absindex(state, index);
  if (!has_address(state, index)) return luaL_tolstring(state, index, size);
  if (luaL_getmetafield(state, index, "__tostring") != LUA_TNIL) {
    lua_pop(state, 1);
    return luaL_tolstring(state, index, size);
  }
  const int type = luaL_getmetafield(state, index, "__name");
  if (type != LUA_TSTRING) {
    if (type != LUA_TNIL) lua_pop(state, 1);
    lua_pushstring(state, luaL_typename(state, index));
  }
  return lua_tolstring(state, -1, size);
}

void open_display(lua_State* state) {
  lua_pushcfunction(state, display_value);
  lua_setglobal(state, "tostring");
  lua_getglobal(state, "string");
  lua_getfield(state, -1, "format");
  lua_pushcclosure(state, format_values, 1);
  lua_setfield(state, -2, "format");
  lua_pop(state, 1);
}

}  // namespace windrow::program
