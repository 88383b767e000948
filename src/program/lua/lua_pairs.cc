#include "program/lua/lua_pairs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// To read a key, to compare two, and to compare so many bytes of text, costs about as much as these
// instructions.
constexpr int64_t kKeyCost = 2;
constexpr size_t kComparisonCost = 2;
constexpr size_t kTextBytesPerInstruction = 64;

// In the order in which they are visited.
enum class KeyKind : uint8_t { kNumber, kText, kBoolean, kOther };

// A key in a form that is compared without Lua. Text is the table's own.
struct Key {
  KeyKind kind = KeyKind::kOther;
  bool is_float = false;
  uint32_t place = 0;  // in the list of keys, from 0
  union {
    lua_Integer integer = 0;
    lua_Number number;
    const char* text;
  };
  size_t size = 0;
};

Key key_on_top(lua_State* state) {
  Key key;
  switch (lua_type(state, -1)) {
    case LUA_TNUMBER:
      key.kind = KeyKind::kNumber;
      key.is_float = lua_isinteger(state, -1) == 0;
      if (key.is_float) {
        key.number = lua_tonumber(state, -1);
      } else {
        key.integer = lua_tointeger(state, -1);
      }
      break;
    case LUA_TSTRING:
      key.kind = KeyKind::kText;
      key.text = lua_tolstring(state, -1, &key.size);
      break;
    case LUA_TBOOLEAN:
      key.kind = KeyKind::kBoolean;
      key.integer = lua_toboolean(state, -1);
      break;
    default:
      break;
  }
  return key;
}

bool is_smaller_number(const Key& a, const Key& b) {
  if (!a.is_float && !b.is_float) return a.integer < b.integer;
  // Holds every integer and every double as it is.
  using Wide = long double;
  static_assert(std::numeric_limits<Wide>::digits >= 64);
  const auto wide = [](const Key& key) {
    return key.is_float ? static_cast<Wide>(key.number) : static_cast<Wide>(key.integer);
  };
  return wide(a) < wide(b);
}

bool comes_before(const Key& a, const Key& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  switch (a.kind) {
    case KeyKind::kNumber:
      return is_smaller_number(a, b);
    case KeyKind::kText:
      return std::string_view(a.text, a.size) < std::string_view(b.text, b.size);
    case KeyKind::kBoolean:
      return a.integer < b.integer;
    case KeyKind::kOther:
      break;
  }
  return false;
}

// Calls `visit` with each key of the table at `index` on top of the stack, in Lua's order. The
// table must not change meanwhile.
template <class Visit>
void visit_keys(lua_State* state, int index, Visit visit) {
  constexpr int64_t kChargedAtOnce = 10'000;
  int64_t work = 0;
  lua_pushnil(state);
  while (lua_next(state, index) != 0) {
    lua_pop(state, 1);
    visit();
    work += kKeyCost;
    if (lua_type(state, -1) == LUA_TSTRING)
      work += static_cast<int64_t>(lua_rawlen(state, -1) / kTextBytesPerInstruction);
    if (work < kChargedAtOnce) continue;
    LuaState::charge(state, work);
    work = 0;
  }
  LuaState::charge(state, work);
}

// What has to be known of a table before its keys are listed.
struct KeyCount {
  size_t keys = 0;
  size_t integers = 0;
  lua_Integer least = std::numeric_limits<lua_Integer>::max();
  lua_Integer greatest = 0;
  size_t text_bytes = 0;

  // The keys are 1..n.
  bool is_list() const {
    return integers == keys && (keys == 0 || (least == 1 && static_cast<size_t>(greatest) == keys));
  }
};

KeyCount count_keys(lua_State* state, int index) {
  KeyCount count;
  visit_keys(state, index, [&] {
    ++count.keys;
    if (lua_isinteger(state, -1) != 0) {
      const lua_Integer key = lua_tointeger(state, -1);
      ++count.integers;
      count.least = std::min(count.least, key);
      count.greatest = std::max(count.greatest, key);
    } else if (lua_type(state, -1) == LUA_TSTRING) {
      count.text_bytes += lua_rawlen(state, -1);
    }
  });
  return count;
}

// Where a loop is. Behind it, unless the table is a list, lie its keys in order.
struct Walk {
  size_t count = 0;
  size_t next = 0;
  bool is_list = false;

  Key* keys() { return reinterpret_cast<Key*>(this + 1); }
};
static_assert(alignof(Key) <= alignof(Walk) && sizeof(Walk) % alignof(Key) == 0);

// Upvalues: the table, the Walk, the keys in Lua's order.
int next_of_walk(lua_State* state) {
  auto& walk = *static_cast<Walk*>(lua_touserdata(state, lua_upvalueindex(2)));
  while (walk.next < walk.count) {
    const size_t place = walk.next++;
    if (walk.is_list) {
      lua_pushinteger(state, static_cast<lua_Integer>(place) + 1);
    } else {
      lua_rawgeti(state, lua_upvalueindex(3),
                  static_cast<lua_Integer>(walk.keys()[place].place) + 1);
    }
    lua_pushvalue(state, -1);
    if (lua_rawget(state, lua_upvalueindex(1)) != LUA_TNIL) return 2;
    lua_pop(state, 2);
    LuaState::charge(state, kKeyCost);
  }
  lua_pushnil(state);
  return 1;
}

// Pushes the keys of the table at 1, and fills the walk.
void list_keys(lua_State* state, const KeyCount& count, Walk& walk) {
  lua_createtable(state, static_cast<int>(count.keys), 0);
  const int list = lua_gettop(state);
  size_t listed = 0;
  // A collection may have taken keys out of a weak table since they were counted.
  visit_keys(state, 1, [&] {
    if (listed == count.keys) return;
    Key key = key_on_top(state);
    key.place = static_cast<uint32_t>(listed);
    walk.keys()[listed++] = key;
    lua_pushvalue(state, -1);
    lua_rawseti(state, list, static_cast<lua_Integer>(listed));
  });
  LuaState::charge(state, static_cast<int64_t>(count.keys * kComparisonCost +
                                               count.text_bytes / kTextBytesPerInstruction) *
                              static_cast<int64_t>(std::bit_width(count.keys)));
  std::sort(walk.keys(), walk.keys() + listed, comes_before);
  walk.count = listed;
}

int give_three(lua_State* /*state*/, int /*status*/, lua_KContext /*context*/) {
  return 3;
}

int begin_walk(lua_State* state) {
  luaL_checkany(state, 1);
  if (luaL_getmetafield(state, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(state, 1);
    lua_callk(state, 1, 3, 0, give_three);
    return 3;
  }
  luaL_checktype(state, 1, LUA_TTABLE);
  lua_settop(state, 1);
  lua_pushvalue(state, 1);
  const KeyCount count = count_keys(state, 1);
  const bool is_list = count.is_list();
  auto* walk = static_cast<Walk*>(
      lua_newuserdatauv(state, sizeof(Walk) + (is_list ? 0 : count.keys * sizeof(Key)), 0));
  *walk = {.count = count.keys, .is_list = is_list};
  if (is_list) {
    lua_pushnil(state);
  } else {
    list_keys(state, count, *walk);
  }
  LuaState::end_long_slice(state);
  lua_pushcclosure(state, next_of_walk, 3);
  lua_pushvalue(state, 1);
  lua_pushnil(state);
  return 3;
}

int first_key(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  if (!lua_isnoneornil(state, 2)) {
    return luaL_error(state,
                      "next: the key after another is not available to programs; use pairs(t), "
                      "which visits keys in a fixed order");
  }
  lua_settop(state, 1);
  lua_pushnil(state);  // the first key so far
  bool has_first = false;
  Key first;
  visit_keys(state, 1, [&] {
    const Key key = key_on_top(state);
    if (has_first && !comes_before(key, first)) return;
    has_first = true;
    first = key;
    lua_pushvalue(state, -1);
    lua_replace(state, 2);
  });
  LuaState::end_long_slice(state);
  if (!has_first) return 1;
  lua_pushvalue(state, 2);
  lua_rawget(state, 1);
  return 2;
}

}  // namespace

void open_pairs(lua_State* state) {
  lua_pushcfunction(state, begin_walk);
  lua_setglobal(state, "pairs");
  lua_pushcfunction(state, first_key);
  lua_setglobal(state, "next");
}

}  // namespace windrow::program
