#include "program/lua/lua_failure.h"

#include <fmt/format.h>

#include "program/limits.h"
#include "program/lua/lua_display.h"

namespace windrow::program {
namespace {

constexpr const char* kFailures = "windrow.Failure";

std::string text_member(lua_State* state, int table, const char* name) {
  lua_pushstring(state, name);
  lua_rawget(state, table);
  size_t size = 0;
  const char* text = lua_type(state, -1) == LUA_TSTRING ? lua_tolstring(state, -1, &size) : nullptr;
  std::string value(text == nullptr ? "" : text, size);
  lua_pop(state, 1);
  return value;
}

int failure_to_string(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  lua_getfield(state, 1, "message");
  push_display(state, -1, nullptr);
  return 1;
}

bool is_failure(lua_State* state, int index) {
  if (!lua_istable(state, index) || lua_getmetatable(state, index) == 0) return false;
  luaL_getmetatable(state, kFailures);
  const bool same = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  return same;
}

int call_body(lua_State* state) {
  const auto& body = *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(state, 1));
  lua_settop(state, 0);
  body(state);
  return 0;
}

}  // namespace

void open_failures(lua_State* state) {
  luaL_newmetatable(state, kFailures);
  lua_pushcfunction(state, failure_to_string);
  lua_setfield(state, -2, "__tostring");
  lua_pushliteral(state, "failure");
  lua_setfield(state, -2, "__metatable");
  lua_pop(state, 1);
}

void push_failure(lua_State* state, const llm::Failure& failure) {
  lua_createtable(state, 0, 3);
  lua_pushlstring(state, failure.code.data(), failure.code.size());
  lua_setfield(state, -2, "code");
  lua_pushinteger(state, failure.status);
  lua_setfield(state, -2, "status");
  lua_pushlstring(state, failure.message.data(), failure.message.size());
  lua_setfield(state, -2, "message");
  luaL_setmetatable(state, kFailures);
}

void raise(lua_State* state, const llm::Failure& failure) {
  push_failure(state, failure);
  lua_error(state);
  __builtin_unreachable();
}

void raise(lua_State* state, const std::string& text) {
  luaL_error(state, "%s", text.c_str());
  __builtin_unreachable();
}

llm::Failure failure_of(lua_State* state, int index) {
  index = lua_absindex(state, index);
  llm::Failure failure{.failure_class = llm::FailureClass::kRequest,
                       .status = 422,
                       .code = std::string(kProgramError),
                       .message = {},
                       .param = {}};
  if (is_failure(state, index)) {
    if (std::string code = text_member(state, index, "code"); !code.empty())
      failure.code = std::move(code);
    failure.message = text_member(state, index, "message");
    lua_pushliteral(state, "status");
    lua_rawget(state, index);
    const lua_Integer status = lua_tointeger(state, -1);
    lua_pop(state, 1);
    if (status >= 400 && status < 600) failure.status = static_cast<int32_t>(status);
    return failure;
  }
  size_t size = 0;
  if (const int type = lua_type(state, index); type == LUA_TSTRING) {
    const char* text = lua_tolstring(state, index, &size);
    failure.message.assign(text, size);
  } else if (type == LUA_TNUMBER) {
    failure.message = lua_isinteger(state, index) != 0
                          ? fmt::format("{}", lua_tointeger(state, index))
                          : fmt::format("{}", lua_tonumber(state, index));
  } else if (type == LUA_TTABLE) {
    failure.message = text_member(state, index, "message");
    if (failure.message.empty()) failure.message = "the error is a table without a message";
  } else {
    failure.message = fmt::format("the error is a value of type {}", lua_typename(state, type));
  }
  return failure;
}

bool protect(lua_State* state, const std::function<void(lua_State*)>& body, std::string* fault) {
  // Neither of these needs memory.
  lua_pushcfunction(state, guarded<call_body>);
  lua_pushlightuserdata(state, const_cast<std::function<void(lua_State*)>*>(&body));
  const int status = lua_pcall(state, 1, 0, 0);
  if (status == LUA_OK) return true;
  if (fault != nullptr) {
    *fault = lua_type(state, -1) == LUA_TSTRING ? lua_tostring(state, -1) : "not enough memory";
  }
  lua_pop(state, 1);
  return false;
}

}  // namespace windrow::program
