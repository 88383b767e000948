#include "program/lua/lua_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "base/ensure.h"
#include "program/lua/lua_sandbox.h"

namespace windrow::program {
namespace {

// Above the limit, so that the error can be raised and what has failed can be closed.
constexpr size_t kSlackBytes = size_t{64} << 10;

// A refused request makes Lua run a whole collection before it asks again, some 100 ms long for
// 64 MiB. A program that lives just below its limit would have one for every few instructions.
constexpr size_t kCollectedBytesPerInstruction = 256;

// Large blocks are filled by loops in C: string.rep, upper, concatenation.
constexpr size_t kLargeBlockBytes = 1024;
constexpr size_t kLargeBytesPerInstruction = 32;

constexpr const char* kUnbrokenText =
    "a function ran for 5 seconds where nothing can interrupt it: within table.sort, string.gsub "
    "or "
    "a <close> handler; do less in it, or take shorter strings";

constexpr const char* kInternalError = "internal error: an exception that is not Lua's";

std::string limit_text(size_t bytes) {
  if (bytes % (size_t{1} << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} bytes", bytes);
}

bool is_shortage(lua_State* state, int status) {
  if (status == LUA_ERRMEM) return true;
  return lua_type(state, -1) == LUA_TSTRING &&
         std::string_view(lua_tostring(state, -1)) == "not enough memory";
}

int push_text(lua_State* state) {
  lua_pushstring(state, static_cast<const char*>(lua_touserdata(state, 1)));
  return 1;
}

int open_all(lua_State* state) {
  open_sandbox(state);
  return 0;
}

// So many instructions that no sum of counts overflows; more would take centuries.
ProgramLimits countable(ProgramLimits limits) {
  constexpr int64_t kInstructionsMax = INT64_MAX / 4;
  limits.instructions_max = std::min(limits.instructions_max, kInstructionsMax);
  return limits;
}

}  // namespace

LuaState::LuaState(const ProgramLimits& limits, const Clock& clock, void* owner)
    : limits_(countable(limits)),
      clock_(clock),
      owner_(owner),
      hook_instructions_(
          static_cast<int>(std::clamp<int64_t>(limits.instructions_max, 1, kHookInstructions))) {
  state_ = lua_newstate(&LuaState::allocate, this);
  ENSURE(state_ != nullptr, "{} bytes are too few for a program", limits.memory_bytes_max);
  *static_cast<LuaState**>(lua_getextraspace(state_)) = this;
  lua_atpanic(state_, &LuaState::on_panic);
  lua_pushcfunction(state_, open_all);
  const int status = lua_pcall(state_, 0, 0, 0);
  ENSURE(status == LUA_OK, "a program's functions do not fit into {} bytes: {}",
         limits.memory_bytes_max, lua_tostring(state_, -1));
  // Coroutines inherit it.
  lua_sethook(state_, &LuaState::on_count, LUA_MASKCOUNT, hook_instructions_);
  collect();
  work_ = 0;
}

LuaState::~LuaState() {
  lua_close(state_);
}

LuaState& LuaState::of(lua_State* state) {
  return **static_cast<LuaState**>(lua_getextraspace(state));
}

Result<void> LuaState::load(lua_State* on, std::string_view source, const std::string& name) {
  if (source.starts_with(LUA_SIGNATURE[0])) {
    return Error{ErrorKind::kInvalid, name + ":1: this is compiled Lua; programs are source text"};
  }
  const std::string chunk = "@" + name;
  const int status = luaL_loadbufferx(on, source.data(), source.size(), chunk.c_str(), "t");
  if (status == LUA_OK) return {};
  if (status == LUA_ERRMEM) out_of_memory_ = true;
  notice_limits();
  const char* message = lua_tostring(on, -1);
  Error error{ErrorKind::kInvalid, message == nullptr ? kInternalError : message};
  if (is_forbidden()) error.message = name + ": " + forbidden_message_;
  lua_pop(on, 1);
  return error;
}

LuaOutcome LuaState::resume(lua_State* coroutine, int arguments, int* results) {
  int status = LUA_OK;
  *results = 0;
  if (!is_forbidden()) {
    lua_State* const outer = std::exchange(running_, coroutine);
    is_sliced_ = false;
    slice_began_ = clock_.now();
    slice_instructions_ = 0;
    if (instructions_at_once() < lua_gethookcount(coroutine)) stop_at_next_instruction();
    status = lua_resume(coroutine, nullptr, arguments, results);
    running_ = outer;
    instructions_ += std::exchange(work_, 0);
    if (status > LUA_YIELD && is_shortage(coroutine, status)) out_of_memory_ = true;
    notice_limits();
  }
  if (is_forbidden()) {
    push_error(coroutine, forbidden_message_.c_str());
  } else if (status == LUA_OK) {
    return LuaOutcome::kReturned;
  } else if (status == LUA_YIELD) {
    return is_sliced_ ? LuaOutcome::kSliced : LuaOutcome::kSuspended;
  } else if (status < 0) {
    push_error(coroutine, kInternalError);
  }
  *results = 1;
  return LuaOutcome::kFailed;
}

void LuaState::close(lua_State* coroutine) {
  if (is_forbidden()) return;
  lua_State* const outer = std::exchange(running_, coroutine);
  slice_began_ = clock_.now();
  lua_resetthread(coroutine);
  running_ = outer;
  notice_limits();
  lua_settop(coroutine, 0);
}

void LuaState::charge(lua_State* state, int64_t instructions) {
  LuaState& self = of(state);
  self.count_work(instructions);
  self.notice_limits();
  if (!self.is_forbidden()) return;
  lua_pushstring(state, self.forbidden_message_.c_str());
  lua_error(state);
}

void LuaState::end_long_slice(lua_State* state) {
  LuaState& self = of(state);
  if (lua_isyieldable(state) != 0 && self.is_slice_over()) self.stop_at_next_instruction();
}

void LuaState::forbid(std::string_view code, std::string message) {
  if (!is_forbidden()) {
    forbidden_code_ = code;
    forbidden_message_ = std::move(message);
  }
  stop_at_next_instruction();
}

void LuaState::forbid_for_memory() {
  out_of_memory_ = true;
  notice_limits();
}

void LuaState::collect() {
  lua_gc(state_, LUA_GCCOLLECT);
}

void* LuaState::allocate(void* self, void* block, size_t old_bytes, size_t new_bytes) {
  auto& state = *static_cast<LuaState*>(self);
  const int instructions = state.instructions_at_once();
  void* const made = block == nullptr ? state.make(old_bytes, new_bytes)
                                      : state.resize(block, old_bytes, new_bytes);
  if (state.instructions_at_once() < instructions || state.blocks_.has_long_stack())
    state.stop_at_next_instruction();
  return made;
}

// `kind`: what Lua says of a new block in place of its old size.
void* LuaState::make(size_t kind, size_t bytes) {
  if (bytes == 0) return nullptr;
  if (blocks_.would_be_long_stack(kind, bytes)) {
    out_of_stack_ = true;
    stop_at_next_instruction();
    return nullptr;
  }
  if (!may_grow(bytes)) return nullptr;
  void* const made = std::malloc(bytes);
  if (made == nullptr) return nullptr;
  blocks_.on_made(made, kind, bytes);
  count_bytes(0, bytes);
  return made;
}

void* LuaState::resize(void* block, size_t old_bytes, size_t new_bytes) {
  if (new_bytes == 0) {
    blocks_.on_freed(block, old_bytes);
    std::free(block);
    bytes_ -= old_bytes;
    return nullptr;
  }
  if (new_bytes > old_bytes && !may_grow(new_bytes - old_bytes)) return nullptr;
  void* const made = std::realloc(block, new_bytes);
  if (made == nullptr) return nullptr;
  blocks_.on_resized(block, old_bytes, made, new_bytes);
  count_bytes(old_bytes, new_bytes);
  return made;
}

void LuaState::count_bytes(size_t old_bytes, size_t new_bytes) {
  bytes_ = bytes_ - old_bytes + new_bytes;
  bytes_peak_ = std::max(bytes_peak_, bytes_);
}

// A request that is refused twice has failed: between the two Lua has collected all garbage. The
// buffers of string functions ask once; what they raise resume() knows by its text.
// Nothing here may throw, and no message is made: Lua is in the middle of something.
bool LuaState::may_grow(size_t bytes) {
  const bool has_slack = out_of_memory_ || out_of_stack_ || is_forbidden();
  const size_t limit = limits_.memory_bytes_max + (has_slack ? kSlackBytes : 0);
  const bool fits = bytes <= limit && bytes_ <= limit - bytes;
  if (fits) {
    refused_bytes_ = 0;
    if (bytes >= kLargeBlockBytes) {
      count_work(static_cast<int64_t>(bytes / kLargeBytesPerInstruction));
    }
    return true;
  }
  if (refused_bytes_ == bytes || bytes > limit) {
    out_of_memory_ = true;
    stop_at_next_instruction();
  } else {
    count_work(static_cast<int64_t>(bytes_ / kCollectedBytesPerInstruction));
  }
  refused_bytes_ = bytes;
  return false;
}

void LuaState::count_work(int64_t instructions) {
  const int64_t most = limits_.instructions_max + 1;
  work_ = std::min(work_, most) + std::min(instructions, most);
  if (work_ >= kSliceInstructions || work_ > limits_.instructions_max - instructions_)
    stop_at_next_instruction();
}

int LuaState::instructions_at_once() const {
  return blocks_.instructions_at_once(hook_instructions_);
}

bool LuaState::is_slice_over() const {
  return slice_instructions_ >= kSliceInstructions || clock_.now() - slice_began_ >= kSliceTime;
}

// lua_sethook may be called at any time, as from a signal handler. It walks over all frames of the
// coroutine, so it is not called again for what is set.
void LuaState::stop_at_next_instruction() {
  if (running_ == nullptr || lua_gethookcount(running_) == 1) return;
  lua_sethook(running_, &LuaState::on_count, LUA_MASKCOUNT, 1);
}

// The errors of limits are made here, where memory may be taken.
void LuaState::notice_limits() {
  if (is_forbidden()) return;
  if (out_of_stack_ || blocks_.has_long_stack()) {
    forbid(kMemoryLimit,
           fmt::format("stack limit of {} values exceeded; call functions less deeply "
                       "within each other, or pass fewer values at a time",
                       kStackSlotsMax));
  } else if (out_of_memory_) {
    forbid(kMemoryLimit, fmt::format("memory limit of {} exceeded; keep less at a time, or raise "
                                     "--program-memory-mb",
                                     limit_text(limits_.memory_bytes_max)));
  } else if (instructions_ + work_ > limits_.instructions_max) {
    forbid(kInstructionLimit, fmt::format("instruction limit of {} exceeded between two calls that "
                                          "wait; do less between them, or raise "
                                          "--program-instructions",
                                          limits_.instructions_max));
  }
}

// Runs after every instructions_at_once() of a coroutine, or earlier when there was work in C; what
// is cut short counts as a whole, so that nothing runs uncounted. An error that is raised here
// leaves the hooks of the coroutine off until a pcall has caught it; so where the coroutine can be
// suspended it is, and resume() fails instead of going on.
void LuaState::on_count(lua_State* state, lua_Debug* record) {
  static_cast<void>(record);
  LuaState& self = of(state);
  const int armed = lua_gethookcount(state);
  const int64_t done =
      (armed == 1 ? self.hook_instructions_ : armed) + std::exchange(self.work_, 0);
  self.instructions_ += done;
  self.slice_instructions_ += done;
  self.notice_limits();
  const bool can_end = lua_isyieldable(state) != 0;
  if (!can_end && !self.is_forbidden() && self.clock_.now() - self.slice_began_ >= kUnbrokenTimeMax)
    self.forbid(kTimeLimit, kUnbrokenText);
  if (const int wanted = self.is_forbidden() ? 1 : self.instructions_at_once(); armed != wanted)
    lua_sethook(state, &LuaState::on_count, LUA_MASKCOUNT, wanted);
  if (!self.is_forbidden() && !self.is_slice_over()) return;
  if (can_end) {
    self.is_sliced_ = true;
    lua_yield(state, 0);
  } else if (self.is_forbidden()) {
    lua_pushstring(state, self.forbidden_message_.c_str());
    lua_error(state);
  }
}

int LuaState::on_panic(lua_State* state) {
  const char* message = lua_tostring(state, -1);
  ENSURE(false, "an error of Lua outside any protected call: {}",
         message == nullptr ? "not a string" : message);
  return 0;
}

// The coroutine may be dead or suspended, so the text is made in the main state, where a shortage
// of memory is caught and is then the error.
void LuaState::push_error(lua_State* coroutine, const char* message) {
  lua_pushcfunction(state_, push_text);
  lua_pushlightuserdata(state_, const_cast<char*>(message));
  lua_pcall(state_, 1, 1, 0);
  lua_checkstack(coroutine, 1);
  lua_xmove(state_, coroutine, 1);
}

}  // namespace windrow::program
