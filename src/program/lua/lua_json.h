// Values of Lua as JSON and back.
//
//   nil, json.null -> null; a table with keys 1..n, or an empty one -> an array; other tables with
//   string keys -> an object, its members in the order of their names; integers stay integers.
//   An empty object comes back as a table that is written as {} again (a metatable marks it);
//   json.object() makes one.
#pragma once

#include <lua.hpp>

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace windrow::program {

// Why a value is not JSON: "result.scores[3] is a function".
struct LuaJsonFault {
  std::string message;
  bool is_too_long = false;  // it could be JSON, of more than `bytes_max`
};

// How deep values may be nested.
inline constexpr size_t kLuaJsonDepthMax = 100;

// The longest text of json.encode and json.decode.
inline constexpr size_t kLuaJsonTextMax = size_t{16} << 20;

// The value at `index`. Never raises a Lua error. Refused: functions, userdata (json.null apart),
// mixed tables, keys that are no strings, cycles, more than kLuaJsonDepthMax levels, NaN and
// infinities, strings that are not UTF-8, more than `bytes_max` of JSON text. `place` names the
// value in faults.
std::variant<boost::json::value, LuaJsonFault> json_of_lua(lua_State* state, int index,
                                                           std::string_view place,
                                                           size_t bytes_max);

// Pushes it. Raises a Lua error when memory runs out; null becomes json.null, and an unsigned
// number that is no Lua integer a float.
void push_json(lua_State* state, const boost::json::value& value);

// Sets the global `json`: encode(value), decode(text), object(), null. The first two raise errors
// that say where.
void open_json(lua_State* state);

}  // namespace windrow::program
