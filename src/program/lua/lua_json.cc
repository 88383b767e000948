#include "program/lua/lua_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "json/limits.h"
#include "json/parse.h"
#include "json/writer.h"
#include "program/lua/lua_failure.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

namespace json = boost::json;

// Their addresses name json.null and the metatable of empty objects.
const char kNull = 0;
const char kObject = 0;

constexpr int64_t kJsonBytesPerInstruction = 16;

bool is_null(lua_State* state, int index) {
  return lua_type(state, index) == LUA_TLIGHTUSERDATA && lua_touserdata(state, index) == &kNull;
}

// As long as append_json() writes it.
size_t written_bytes(std::string_view text) {
  size_t bytes = 2;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_short = std::string_view("\"\\\b\f\n\r\t").find(character) != std::string::npos;
    bytes += is_short ? 2 : byte < 0x20 ? 6 : 1;
  }
  return bytes;
}

std::string_view string_at(lua_State* state, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return {text, size};
}

bool has_mark(lua_State* state, int index) {
  if (lua_getmetatable(state, index) == 0) return false;
  lua_rawgetp(state, LUA_REGISTRYINDEX, &kObject);
  const bool is_same = lua_rawequal(state, -1, -2) != 0;
  lua_pop(state, 2);
  return is_same;
}

// What the keys of a table say it is.
struct TableShape {
  lua_Integer indexes = 0;  // how many keys are integers
  lua_Integer least = std::numeric_limits<lua_Integer>::max();
  lua_Integer greatest = 0;
  size_t names = 0;             // how many are strings
  const char* other = nullptr;  // the type of a key of another kind
};

TableShape shape_of(lua_State* state, int index) {
  TableShape shape;
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    lua_pop(state, 1);
    if (lua_type(state, -1) == LUA_TSTRING) {
      ++shape.names;
    } else if (lua_isinteger(state, -1) != 0) {
      const lua_Integer key = lua_tointeger(state, -1);
      ++shape.indexes;
      shape.least = std::min(shape.least, key);
      shape.greatest = std::max(shape.greatest, key);
    } else {
      shape.other = luaL_typename(state, -1);
    }
  }
  return shape;
}

// A step from a table to one of its values: an element, or the member of a name.
struct PathStep {
  const void* table = nullptr;
  lua_Integer index = 0;
  std::string_view name;
  bool is_member = false;
};

// In messages; longer ones are cut.
constexpr size_t kNameBytesMax = 40;
constexpr size_t kStepsMax = 12;

void append_step(const PathStep& step, std::string& text) {
  if (!step.is_member) return append_format(text, "[{}]", step.index);
  std::string name = utf8_repair(step.name.substr(0, kNameBytesMax));
  if (name.size() < step.name.size()) name += "...";
  const bool is_word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (is_word) return append_format(text, ".{}", name);
  text += '[';
  append_json(name, text);
  text += ']';
}

// LuaJsonReader: makes one value of Lua a value of JSON. Once there is a fault every function
// returns null.
class LuaJsonReader {
 public:
  LuaJsonReader(lua_State* state, std::string_view place, size_t bytes_max)
      : state_(state), place_(place), bytes_max_(bytes_max) {}

  const std::optional<LuaJsonFault>& fault() const { return fault_; }

  json::value read(int index) {
    switch (lua_type(state_, index)) {
      case LUA_TNIL:
        count(4);
        return nullptr;
      case LUA_TBOOLEAN:
        count(lua_toboolean(state_, index) != 0 ? 4 : 5);
        return lua_toboolean(state_, index) != 0;
      case LUA_TNUMBER:
        return read_number(index);
      case LUA_TSTRING:
        return read_string(index);
      case LUA_TTABLE:
        return read_table(index);
      default:
        break;
    }
    if (!is_null(state_, index)) {
      return fail(fmt::format("is a {}, which JSON does not have", luaL_typename(state_, index)));
    }
    count(4);
    return nullptr;
  }

 private:
  json::value read_number(int index) {
    if (lua_isinteger(state_, index) != 0) {
      const int64_t value = lua_tointeger(state_, index);
      count(fmt::formatted_size("{}", value));
      return value;
    }
    const double value = lua_tonumber(state_, index);
    if (!std::isfinite(value)) return fail("is a number that is not finite");
    number_.clear();
    append_json(value, number_);
    count(number_.size());
    return value;
  }

  json::value read_string(int index) {
    const std::string_view text = string_at(state_, index);
    if (!is_utf8(text)) return fail("is a string that is not UTF-8");
    if (!count(written_bytes(text))) return nullptr;
    return json::string(text);
  }

  json::value read_table(int index) {
    const void* const table = lua_topointer(state_, index);
    const auto is_table = [&](const PathStep& step) { return step.table == table; };
    if (std::any_of(path_.begin(), path_.end(), is_table)) return fail("contains itself");
    if (path_.size() >= kLuaJsonDepthMax) {
      return fail(fmt::format("is nested more than {} levels deep", kLuaJsonDepthMax));
    }
    // Two for a key and its value, two for metatables.
    if (lua_checkstack(state_, 4) == 0) return fail("is nested too deep for its memory");
    const TableShape shape = shape_of(state_, index);
    if (shape.other != nullptr) {
      return fail(fmt::format("has a key that is a {}; keys are strings, or 1 to n", shape.other));
    }
    if (shape.indexes > 0 && shape.names > 0) {
      return fail("has keys that are strings and keys that are numbers");
    }
    const bool is_object = shape.names > 0 || (shape.indexes == 0 && has_mark(state_, index));
    count(shape.names + static_cast<size_t>(shape.indexes) > 0 ? 1 : 2);  // brackets and commas
    path_.push_back({.table = table, .is_member = is_object});
    json::value value = is_object ? read_object(index, shape) : read_list(index, shape);
    path_.pop_back();
    return value;
  }

  json::value read_list(int index, const TableShape& shape) {
    if (shape.indexes > 0 && (shape.least != 1 || shape.greatest != shape.indexes)) {
      path_.pop_back();
      fail(fmt::format("has {} values with indexes from {} to {}; those of a list are 1 to n",
                       shape.indexes, shape.least, shape.greatest));
      path_.emplace_back();
      return nullptr;
    }
    json::array list;
    list.reserve(static_cast<size_t>(shape.indexes));
    for (lua_Integer i = 1; i <= shape.indexes && !fault_; ++i) {
      path_.back().index = i;
      lua_rawgeti(state_, index, i);
      count(1);
      list.push_back(read(lua_gettop(state_)));
      lua_pop(state_, 1);
    }
    return list;
  }

  // The names are of the table's own strings.
  json::value read_object(int index, const TableShape& shape) {
    std::vector<std::pair<std::string_view, json::value>> members;
    members.reserve(shape.names);
    lua_pushnil(state_);
    while (lua_next(state_, index) != 0) {
      const std::string_view name = string_at(state_, -2);
      path_.back().name = name;
      if (!is_utf8(name)) fail("has a name that is not UTF-8");
      count(written_bytes(name) + 2);
      members.emplace_back(name, read(lua_gettop(state_)));
      lua_pop(state_, 1);
      if (!fault_) continue;
      lua_pop(state_, 1);
      return nullptr;
    }
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    json::object object;
    object.reserve(members.size());
    for (auto& [name, value] : members)
      object.emplace(name, std::move(value));
    return object;
  }

  bool count(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > bytes_max_ && !fault_) {
      fail(fmt::format("is where the text exceeds {} bytes; make it shorter", bytes_max_));
      fault_->is_too_long = true;
    }
    return !fault_;
  }

  std::nullptr_t fail(std::string_view what) {
    if (fault_) return nullptr;
    std::string text(place_);
    for (size_t i = 0; i < path_.size(); ++i) {
      if (path_.size() > kStepsMax && i == kStepsMax / 2) {
        text += "...";
        i = path_.size() - kStepsMax / 2;
      }
      append_step(path_[i], text);
    }
    fault_.emplace(fmt::format("{} {}", text, what));
    return nullptr;
  }

  lua_State* const state_;
  const std::string_view place_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::vector<PathStep> path_;
  std::string number_;
  std::optional<LuaJsonFault> fault_;
};

// Marks the table on top of the stack as an object.
void set_mark(lua_State* state) {
  if (lua_rawgetp(state, LUA_REGISTRYINDEX, &kObject) == LUA_TNIL) {
    lua_pop(state, 1);
    lua_createtable(state, 0, 1);
    lua_pushliteral(state, "object");
    lua_setfield(state, -2, "__metatable");
    lua_pushvalue(state, -1);
    lua_rawsetp(state, LUA_REGISTRYINDEX, &kObject);
  }
  lua_setmetatable(state, -2);
}

int size_hint(size_t size) {
  return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
}

void push_list(lua_State* state, const json::array& list) {
  lua_createtable(state, size_hint(list.size()), 0);
  lua_Integer index = 0;
  for (const json::value& element : list) {
    push_json(state, element);
    lua_rawseti(state, -2, ++index);
  }
}

void push_object(lua_State* state, const json::object& object) {
  lua_createtable(state, 0, size_hint(object.size()));
  for (const json::key_value_pair& member : object) {
    lua_pushlstring(state, member.key().data(), member.key().size());
    push_json(state, member.value());
    lua_rawset(state, -3);
  }
  if (object.empty()) set_mark(state);
}

[[noreturn]] void raise_json_error(lua_State* state, const char* function,
                                   const std::string& what) {
  luaL_error(state, "%s: %s", function, what.c_str());
  std::terminate();  // luaL_error does not return
}

int encode_json(lua_State* state) {
  luaL_checkany(state, 1);
  lua_settop(state, 1);
  std::string text;
  {
    const auto value = json_of_lua(state, 1, "value", kLuaJsonTextMax);
    if (const auto* fault = std::get_if<LuaJsonFault>(&value)) {
      raise_json_error(state, "json.encode", fault->message);
    }
    append_compact_json(std::get<json::value>(value), text);
  }
  LuaState::charge(state, static_cast<int64_t>(text.size()) / kJsonBytesPerInstruction);
  lua_pushlstring(state, text.data(), text.size());
  return 1;
}

int decode_json(lua_State* state) {
  size_t size = 0;
  const char* bytes = luaL_checklstring(state, 1, &size);
  const std::string_view text(bytes, size);
  if (size > kLuaJsonTextMax || count_json_values(text) > kJsonValuesMax) {
    raise_json_error(state, "json.decode",
                     fmt::format("the text is above the limit of {} bytes and {} values",
                                 kLuaJsonTextMax, kJsonValuesMax));
  }
  LuaState::charge(state, static_cast<int64_t>(size) / kJsonBytesPerInstruction);
  json::monotonic_resource memory;
  const auto value = parse_json(text, &memory);
  if (const auto* fault = std::get_if<JsonFault>(&value)) {
    raise_json_error(
        state, "json.decode",
        fmt::format("the text is not JSON at byte {}: {}", fault->byte, fault->reason));
  }
  lua_settop(state, 1);
  push_json(state, std::get<json::value>(value));
  return 1;
}

// An empty table that is written as {}.
int make_object(lua_State* state) {
  if (lua_gettop(state) > 0)
    raise_json_error(state, "json.object", "it takes no arguments; add the members to its result");
  lua_createtable(state, 0, 0);
  set_mark(state);
  return 1;
}

int null_text(lua_State* state) {
  lua_pushliteral(state, "null");
  return 1;
}

}  // namespace

std::variant<json::value, LuaJsonFault> json_of_lua(lua_State* state, int index,
                                                    std::string_view place, size_t bytes_max) {
  LuaJsonReader reader(state, place, bytes_max);
  const int top = lua_gettop(state);
  json::value value = reader.read(lua_absindex(state, index));
  lua_settop(state, top);
  if (reader.fault()) return *reader.fault();
  return value;
}

void push_json(lua_State* state, const json::value& value) {
  luaL_checkstack(state, 4, "the value is nested too deep");
  switch (value.kind()) {
    case json::kind::null:
      lua_pushlightuserdata(state, const_cast<char*>(&kNull));
      return;
    case json::kind::bool_:
      lua_pushboolean(state, value.get_bool() ? 1 : 0);
      return;
    case json::kind::int64:
      lua_pushinteger(state, value.get_int64());
      return;
    case json::kind::uint64:
      if (value.get_uint64() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        lua_pushinteger(state, static_cast<int64_t>(value.get_uint64()));
      } else {
        lua_pushnumber(state, static_cast<double>(value.get_uint64()));
      }
      return;
    case json::kind::double_:
      lua_pushnumber(state, value.get_double());
      return;
    case json::kind::string:
      lua_pushlstring(state, value.get_string().data(), value.get_string().size());
      return;
    case json::kind::array:
      return push_list(state, value.get_array());
    case json::kind::object:
      return push_object(state, value.get_object());
  }
}

void open_json(lua_State* state) {
  lua_createtable(state, 0, 4);
  lua_pushcfunction(state, guarded<encode_json>);
  lua_setfield(state, -2, "encode");
  lua_pushcfunction(state, guarded<decode_json>);
  lua_setfield(state, -2, "decode");
  lua_pushcfunction(state, guarded<make_object>);
  lua_setfield(state, -2, "object");
  lua_pushlightuserdata(state, const_cast<char*>(&kNull));
  lua_createtable(state, 0, 2);  // of all light userdata
  lua_pushcfunction(state, null_text);
  lua_setfield(state, -2, "__tostring");
  lua_pushliteral(state, "null");
  lua_setfield(state, -2, "__metatable");
  lua_setmetatable(state, -2);
  lua_setfield(state, -2, "null");
  lua_setglobal(state, "json");
}

}  // namespace windrow::program
