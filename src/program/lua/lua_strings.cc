#include "program/lua/lua_strings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "program/lua/lua_patterns.h"
#include "program/lua/lua_state.h"

namespace windrow::program {
namespace {

// About how much of a plain search, and how many steps, take as long as an instruction.
constexpr size_t kSearchBytesPerInstruction = 64;
constexpr int64_t kStepsPerInstruction = 4;

constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

std::string_view string_argument(lua_State* state, int index) {
  size_t size = 0;
  const char* text = luaL_checklstring(state, index, &size);
  return {text, size};
}

std::string_view text_value(lua_State* state, int index) {
  size_t size = 0;
  const char* text = lua_tolstring(state, index, &size);
  return {text, size};
}

// Where a search begins, counted from 0: argument `index` counts from 1, or from behind the end if
// it is negative. May lie behind the end.
size_t begin_argument(lua_State* state, int index, size_t size) {
  const lua_Integer position = luaL_optinteger(state, index, 1);
  if (position > 0) return static_cast<size_t>(position) - 1;
  if (position == 0 || position < -static_cast<lua_Integer>(size)) return 0;
  return size - static_cast<size_t>(-position);
}

void push_text(lua_State* state, std::string_view text) {
  lua_pushlstring(state, text.data(), text.size());
}

void push_position(lua_State* state, size_t position) {
  lua_pushinteger(state, static_cast<lua_Integer>(position) + 1);
}

// The matches of one call, whose steps count as instructions. Raises what is wrong.
class CountedMatches {
 public:
  CountedMatches(lua_State* state, const char* function, std::string_view subject,
                 std::string_view pattern)
      : state_(state),
        function_(function),
        subject_(subject),
        steps_max_(kPatternSteps + kPatternStepsPerByte * static_cast<int64_t>(subject.size())),
        steps_left_(steps_max_),
        matcher_(subject, pattern, steps_max_) {}

  std::optional<size_t> match_at(size_t begin) {
    const std::optional<size_t> end = matcher_.match_at(begin);
    constexpr int64_t kStepsUncounted = 1024;
    if (end || steps_left_ - matcher_.steps_left() > kStepsUncounted) count();
    if (matcher_.is_exhausted()) {
      luaL_error(state_,
                 "string.%s: the pattern takes too long (more than %I steps); use a simpler one",
                 function_, static_cast<LUAI_UACINT>(steps_max_));
    }
    if (!matcher_.fault().empty()) luaL_error(state_, "%s", matcher_.fault().c_str());
    return end;
  }

  // The captures of the last match, from `begin` to `end`, or without any the whole of it.
  int push_captures_or(size_t begin, size_t end) {
    if (!matcher_.captures().empty()) return push_captures();
    push_text(state_, subject_.substr(begin, end - begin));
    return 1;
  }

  int push_captures() {
    const auto count = static_cast<int>(matcher_.captures().size());
    luaL_checkstack(state_, count, "too many captures");
    for (int i = 0; i < count; ++i)
      push_capture(i, 0, 0);
    return count;
  }

  // Capture `index`, counted from 0; the first one is the whole match where there is none.
  void push_capture(int index, size_t begin, size_t end) {
    const auto captures = matcher_.captures();
    if (static_cast<size_t>(index) >= captures.size()) {
      if (index != 0) luaL_error(state_, "invalid capture index %%%d", index + 1);
      return push_text(state_, subject_.substr(begin, end - begin));
    }
    const PatternCapture& capture = captures[static_cast<size_t>(index)];
    switch (capture.kind) {
      case PatternCapture::Kind::kUnfinished:
        luaL_error(state_, "unfinished capture");
        return;
      case PatternCapture::Kind::kPosition:
        return push_position(state_, capture.begin);
      case PatternCapture::Kind::kText:
        return push_text(state_, subject_.substr(capture.begin, capture.end - capture.begin));
    }
  }

  lua_State* state() const { return state_; }
  std::string_view subject() const { return subject_; }

 private:
  void count() {
    const int64_t steps = steps_left_ - matcher_.steps_left();
    steps_left_ = matcher_.steps_left();
    LuaState::charge(state_, steps / kStepsPerInstruction);
  }

  lua_State* const state_;
  const char* const function_;
  const std::string_view subject_;
  const int64_t steps_max_;
  int64_t steps_left_;  // when they were counted last
  PatternMatcher matcher_;
};

int find_plain(lua_State* state, std::string_view subject, std::string_view text, size_t begin) {
  LuaState::charge(state, static_cast<int64_t>(subject.size() / kSearchBytesPerInstruction));
  // memmem() takes linear time; std::string_view::find may not.
  const char* found =
      text.empty() ? subject.data() + begin
                   : static_cast<const char*>(memmem(subject.data() + begin, subject.size() - begin,
                                                     text.data(), text.size()));
  if (found == nullptr) {
    luaL_pushfail(state);
    return 1;
  }
  const auto position = static_cast<size_t>(found - subject.data());
  push_position(state, position);
  lua_pushinteger(state, static_cast<lua_Integer>(position + text.size()));
  return 2;
}

int find_or_match(lua_State* state, bool is_find) {
  const std::string_view subject = string_argument(state, 1);
  std::string_view pattern = string_argument(state, 2);
  const size_t first = begin_argument(state, 3, subject.size());
  if (first > subject.size()) {
    luaL_pushfail(state);
    return 1;
  }
  if (is_find && (lua_toboolean(state, 4) != 0 || !has_specials(pattern)))
    return find_plain(state, subject, pattern, first);
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  CountedMatches matches(state, is_find ? "find" : "match", subject, pattern);
  const size_t last = is_anchored ? first : subject.size();
  for (size_t begin = first; begin <= last; ++begin) {
    const std::optional<size_t> end = matches.match_at(begin);
    if (!end) continue;
    if (!is_find) return matches.push_captures_or(begin, *end);
    push_position(state, begin);
    lua_pushinteger(state, static_cast<lua_Integer>(*end));
    return 2 + matches.push_captures();
  }
  luaL_pushfail(state);
  return 1;
}

int string_find(lua_State* state) {
  return find_or_match(state, true);
}

int string_match(lua_State* state) {
  return find_or_match(state, false);
}

// Where an iterator of gmatch goes on, and where its last match ended: no empty match follows
// there.
struct Progress {
  size_t begin = 0;
  size_t last_end = kNowhere;
};

// Upvalues: the subject, the pattern, Progress.
int next_match(lua_State* state) {
  auto& progress = *static_cast<Progress*>(lua_touserdata(state, lua_upvalueindex(3)));
  const std::string_view subject = text_value(state, lua_upvalueindex(1));
  CountedMatches matches(state, "gmatch", subject, text_value(state, lua_upvalueindex(2)));
  for (size_t begin = progress.begin; begin <= subject.size(); ++begin) {
    const std::optional<size_t> end = matches.match_at(begin);
    if (!end || *end == progress.last_end) continue;
    progress.begin = progress.last_end = *end;
    return matches.push_captures_or(begin, *end);
  }
  // Asked again it need not search again.
  progress.begin = subject.size() + 1;
  return 0;
}

int string_gmatch(lua_State* state) {
  const std::string_view subject = string_argument(state, 1);
  string_argument(state, 2);
  const size_t begin = begin_argument(state, 3, subject.size());
  lua_settop(state, 2);
  *static_cast<Progress*>(lua_newuserdatauv(state, sizeof(Progress), 0)) =
      Progress{.begin = std::min(begin, subject.size() + 1)};
  lua_pushcclosure(state, next_match, 3);
  return 1;
}

// The result of a gsub as it grows. On top of the stack between its calls.
class Substitution {
 public:
  explicit Substitution(CountedMatches& matches) : matches_(matches), state_(matches.state()) {
    luaL_buffinit(state_, &buffer_);
  }

  void add(std::string_view text) { luaL_addlstring(&buffer_, text.data(), text.size()); }

  // What replaces a match, by argument 3. False: the match stays as it is.
  bool replace(size_t begin, size_t end) {
    switch (lua_type(state_, 3)) {
      case LUA_TFUNCTION: {
        lua_pushvalue(state_, 3);
        lua_call(state_, matches_.push_captures_or(begin, end), 1);
        return add_value(begin, end);
      }
      case LUA_TTABLE:
        matches_.push_capture(0, begin, end);
        lua_gettable(state_, 3);
        return add_value(begin, end);
      default:
        add_template(begin, end);
        return true;
    }
  }

  void push() { luaL_pushresult(&buffer_); }

 private:
  std::string_view match(size_t begin, size_t end) const {
    return matches_.subject().substr(begin, end - begin);
  }

  bool add_value(size_t begin, size_t end) {
    if (lua_toboolean(state_, -1) == 0) {
      lua_pop(state_, 1);
      add(match(begin, end));
      return false;
    }
    if (lua_isstring(state_, -1) == 0)
      luaL_error(state_, "invalid replacement value (a %s)", luaL_typename(state_, -1));
    luaL_addvalue(&buffer_);
    return true;
  }

  // %0 is the match, %1 to %9 are its captures, %% is %.
  void add_template(size_t begin, size_t end) {
    std::string_view rest = text_value(state_, 3);
    for (size_t place = rest.find('%'); place != std::string_view::npos; place = rest.find('%')) {
      add(rest.substr(0, place));
      const char kind = place + 1 < rest.size() ? rest[place + 1] : '\0';
      if (kind == '%') {
        luaL_addchar(&buffer_, '%');
      } else if (kind == '0') {
        add(match(begin, end));
      } else if (kind >= '1' && kind <= '9') {
        matches_.push_capture(kind - '1', begin, end);
        luaL_addvalue(&buffer_);
      } else {
        luaL_error(state_, "invalid use of '%c' in replacement string", '%');
      }
      rest.remove_prefix(place + 2);
    }
    add(rest);
  }

  CountedMatches& matches_;
  lua_State* const state_;
  luaL_Buffer buffer_;
};

int string_gsub(lua_State* state) {
  const std::string_view subject = string_argument(state, 1);
  std::string_view pattern = string_argument(state, 2);
  const int kind = lua_type(state, 3);
  const lua_Integer count_max =
      luaL_optinteger(state, 4, static_cast<lua_Integer>(subject.size()) + 1);
  luaL_argexpected(
      state,
      kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION || kind == LUA_TTABLE, 3,
      "string/function/table");
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  CountedMatches matches(state, "gsub", subject, pattern);
  Substitution result(matches);
  bool is_changed = false;
  lua_Integer count = 0;
  size_t begin = 0;
  size_t last_end = kNowhere;
  while (count < count_max) {
    const std::optional<size_t> end = matches.match_at(begin);
    if (end && *end != last_end) {
      ++count;
      if (result.replace(begin, *end)) is_changed = true;
      begin = last_end = *end;
    } else if (begin < subject.size()) {
      result.add(subject.substr(begin, 1));
      ++begin;
    } else {
      break;
    }
    if (is_anchored) break;
  }
  if (is_changed) {
    result.add(subject.substr(begin));
    result.push();
  } else {
    lua_pushvalue(state, 1);
  }
  lua_pushinteger(state, count);
  return 2;
}

int string_rep(lua_State* state) {
  const std::string_view text = string_argument(state, 1);
  const lua_Integer count = luaL_checkinteger(state, 2);
  const std::string_view separator =
      lua_isnoneornil(state, 3) ? std::string_view("") : string_argument(state, 3);
  const size_t unit = text.size() + separator.size();
  if (count <= 0 || unit == 0) {
    lua_pushliteral(state, "");
    return 1;
  }
  const auto repetitions = static_cast<size_t>(count);
  if (unit > static_cast<size_t>(std::numeric_limits<int>::max()) / repetitions)
    return luaL_error(state, "resulting string too large");
  const size_t size = repetitions * unit - separator.size();
  luaL_Buffer buffer;
  char* made = luaL_buffinitsize(state, &buffer, size);
  std::memcpy(made, text.data(), text.size());
  if (repetitions > 1) std::memcpy(made + text.size(), separator.data(), separator.size());
  // What is there is appended to itself: few long copies.
  for (size_t done = std::min(unit, size); done < size;) {
    const size_t more = std::min(done, size - done);
    std::memcpy(made + done, made, more);
    done += more;
  }
  luaL_pushresultsize(&buffer, size);
  return 1;
}

}  // namespace

void open_strings(lua_State* state) {
  luaL_requiref(state, LUA_STRLIBNAME, luaopen_string, 1);
  const std::array<luaL_Reg, 6> functions{{{"find", string_find},
                                           {"match", string_match},
                                           {"gmatch", string_gmatch},
                                           {"gsub", string_gsub},
                                           {"rep", string_rep},
                                           {nullptr, nullptr}}};
  luaL_setfuncs(state, functions.data(), 0);
  lua_pushnil(state);
  lua_setfield(state, -2, "dump");
  lua_pop(state, 1);
}

}  // namespace windrow::program
