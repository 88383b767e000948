// Failures as Lua errors and back: a failure is raised as a table {code, status, message}, whose
// tostring() is its message, so that programs can catch it and tell failures apart.
#pragma once

#include <lua.hpp>

#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"

namespace windrow::program {

// Makes the metatable of failures.
void open_failures(lua_State* state);

void push_failure(lua_State* state, const llm::Failure& failure);

// Raises it.
[[noreturn]] void raise(lua_State* state, const llm::Failure& failure);

// Raises a text with the place in the program in front, as Lua's error() does.
[[noreturn]] void raise(lua_State* state, const std::string& text);

// The failure that a Lua error is, without calling anything of the program: one that was pushed by
// push_failure, or kProgramError with the error's text.
llm::Failure failure_of(lua_State* state, int index);

// Runs `body` so that errors of Lua are caught: false, and the error's text is in `fault`.
bool protect(lua_State* state, const std::function<void(lua_State*)>& body, std::string* fault);

// A function that Lua calls: exceptions of C++ become Lua errors, as Lua itself would swallow them
// without a message. Lua's own errors, which are no std::exception, pass.
template <int (*Function)(lua_State*)>
int guarded(lua_State* state) {
  try {
    return Function(state);
  } catch (const std::bad_alloc&) {
    // Lua's own text, without a place in front: LuaState takes it for the memory limit.
    lua_pushliteral(state, "not enough memory");
    return lua_error(state);
  } catch (const std::exception& error) {
    return luaL_error(state, "internal error: %s", error.what());
  }
}

}  // namespace windrow::program
