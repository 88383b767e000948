#include "program/lua/option_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/suggest.h"
#include "base/utf8.h"
#include "json/parse.h"
#include "program/lua/lua_failure.h"
#include "program/lua/lua_json.h"
#include "program/lua/lua_tables.h"

namespace windrow::program {
namespace {

constexpr size_t kSchemaBytesMax = size_t{5} << 20;

// A value as messages show it.
std::string shown(lua_State* state, int index) {
  switch (lua_type(state, index)) {
    case LUA_TNIL:
      return "nil";
    case LUA_TBOOLEAN:
      return lua_toboolean(state, index) != 0 ? "true" : "false";
    case LUA_TNUMBER:
      return lua_isinteger(state, index) != 0 ? fmt::format("{}", lua_tointeger(state, index))
                                              : fmt::format("{}", lua_tonumber(state, index));
    case LUA_TSTRING: {
      constexpr size_t kShownBytesMax = 40;
      size_t size = 0;
      const char* text = lua_tolstring(state, index, &size);
      const std::string_view whole(text, size);
      return fmt::format("\"{}{}\"", utf8_repair(whole.substr(0, kShownBytesMax)),
                         size > kShownBytesMax ? "..." : "");
    }
    case LUA_TLIGHTUSERDATA:
      return "null";  // there is no other
    default:
      return fmt::format("a {}", lua_typename(state, lua_type(state, index)));
  }
}

// The text at `index`; nothing where it is none, or no UTF-8.
std::optional<std::string> text_at(lua_State* state, int index) {
  if (lua_type(state, index) != LUA_TSTRING) return std::nullopt;
  size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  std::string value(text, size);
  if (!is_utf8(value)) return std::nullopt;
  return value;
}

// The texts of a list; nothing where it is none.
std::optional<std::vector<std::string>> texts_at(lua_State* state, int index) {
  index = lua_absindex(state, index);
  const auto count = static_cast<lua_Integer>(lua_rawlen(state, index));
  if (count > kTableLengthMax) return std::nullopt;
  std::vector<std::string> values;
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(state, index, i);
    std::optional<std::string> value = text_at(state, -1);
    lua_pop(state, 1);
    if (!value) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace

OptionReader::OptionReader(lua_State* state, int index, std::string_view function)
    : state_(state), index_(lua_absindex(state, index)), function_(function) {
  if (lua_isnoneornil(state, index_)) return;
  if (!lua_istable(state, index_)) {
    raise(state, fmt::format("{}: its options are a table, as in {}{{max_tokens = 16}}, not {}",
                             function_, function_, shown(state, index_)));
  }
}

int OptionReader::push(const char* name) {
  known_.emplace_back(name);
  if (!lua_istable(state_, index_)) return LUA_TNIL;
  lua_getfield(state_, index_, name);
  const int type = lua_type(state_, -1);
  if (type == LUA_TNIL) lua_pop(state_, 1);
  return type;
}

void OptionReader::refuse(const char* name, std::string_view what) const {
  raise(state_,
        fmt::format("{}: {} must be {}; it is {}", function_, name, what, shown(state_, -1)));
}

std::optional<int64_t> OptionReader::integer(const char* name, int64_t min, int64_t max) {
  if (push(name) == LUA_TNIL) return std::nullopt;
  int is_integer = 0;
  const lua_Integer value = lua_tointegerx(state_, -1, &is_integer);
  if (lua_type(state_, -1) != LUA_TNUMBER || is_integer == 0 || value < min || value > max)
    refuse(name, fmt::format("a whole number from {} to {}", min, max));
  lua_pop(state_, 1);
  return value;
}

std::optional<double> OptionReader::number(const char* name, double min, double max) {
  if (push(name) == LUA_TNIL) return std::nullopt;
  const lua_Number value = lua_tonumber(state_, -1);
  if (lua_type(state_, -1) != LUA_TNUMBER || !(value >= min && value <= max))
    refuse(name, fmt::format("a number from {} to {}", min, max));
  lua_pop(state_, 1);
  return value;
}

std::optional<bool> OptionReader::boolean(const char* name) {
  const int type = push(name);
  if (type == LUA_TNIL) return std::nullopt;
  if (type != LUA_TBOOLEAN) refuse(name, "true or false");
  const bool value = lua_toboolean(state_, -1) != 0;
  lua_pop(state_, 1);
  return value;
}

std::optional<std::string> OptionReader::text(const char* name) {
  if (push(name) == LUA_TNIL) return std::nullopt;
  std::optional<std::string> value = text_at(state_, -1);
  if (!value) refuse(name, "a text in UTF-8");
  lua_pop(state_, 1);
  return value;
}

std::vector<std::string> OptionReader::texts(const char* name) {
  const int type = push(name);
  if (type == LUA_TNIL) return {};
  std::optional<std::vector<std::string>> values;
  if (type == LUA_TTABLE) {
    values = texts_at(state_, -1);
  } else if (std::optional<std::string> one = text_at(state_, -1)) {
    values.emplace().push_back(*std::move(one));
  }
  if (!values || values->empty()) refuse(name, "a text or a list of texts, in UTF-8");
  lua_pop(state_, 1);
  return *std::move(values);
}

std::optional<std::string> OptionReader::json_text(const char* name) {
  const int type = push(name);
  if (type == LUA_TNIL) return std::nullopt;
  std::string text;
  if (type == LUA_TTABLE) {
    auto made = json_of_lua(state_, -1, name, kSchemaBytesMax);
    if (const auto* fault = std::get_if<LuaJsonFault>(&made))
      raise(state_, fmt::format("{}: {}", function_, fault->message));
    text = boost::json::serialize(std::get<boost::json::value>(made));
  } else if (std::optional<std::string> given = text_at(state_, -1)) {
    if (std::holds_alternative<JsonFault>(parse_json(*given)))
      refuse(name, "a table, or a text that is JSON");
    text = *std::move(given);
  } else {
    refuse(name, "a table, or a text that is JSON");
  }
  lua_pop(state_, 1);
  return text;
}

void OptionReader::finish() const {
  if (!lua_istable(state_, index_)) return;
  // The first by its letters: Lua's order differs from run to run.
  std::optional<std::string> unknown;
  lua_pushnil(state_);
  while (lua_next(state_, index_) != 0) {
    lua_pop(state_, 1);
    const bool is_name = lua_type(state_, -1) == LUA_TSTRING;
    std::string name = is_name ? lua_tostring(state_, -1) : shown(state_, -1);
    if (is_name && std::ranges::find(known_, name) != known_.end()) continue;
    if (!unknown || name < *unknown) unknown = std::move(name);
  }
  if (!unknown) return;
  raise(state_,
        fmt::format("{}: there is no option {}{}", function_, *unknown,
                    did_you_mean(*unknown, known_,
                                 fmt::format("; its options are {}", fmt::join(known_, ", ")))));
}

std::string text_argument(lua_State* state, int index, std::string_view place) {
  std::optional<std::string> value = text_at(state, index);
  if (!value)
    raise(state, fmt::format("{}: a text in UTF-8 is wanted, not {}", place, shown(state, index)));
  return *std::move(value);
}

std::vector<std::string> texts_argument(lua_State* state, int index, std::string_view place) {
  std::optional<std::vector<std::string>> values;
  if (lua_istable(state, index)) values = texts_at(state, index);
  if (!values || values->empty()) {
    raise(state,
          fmt::format("{}: a list of texts in UTF-8 is wanted, as in {{\"yes\", \"no\"}}", place));
  }
  return *std::move(values);
}

}  // namespace windrow::program
