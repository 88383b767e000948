// LuaState: one Lua 5.4 interpreter within limits: its memory through an allocator of its own, its
// instructions and the time of a slice through a count hook, its functions those of the sandbox
// (lua_sandbox.h). Lua is linked as C++ (liblua5.4-c++), so its errors are exceptions and
// destructors run.
//
// Used by one thread. Headers of lua/ are the only ones that name lua_State.
#pragma once

#include <lua.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "program/limits.h"
#include "program/lua/lua_blocks.h"

namespace windrow::program {

// One slice: how long a program may run before others get a turn. It ends by what comes first; most
// instructions take some nanoseconds, but one that compares long strings takes as long as they are.
inline constexpr int kSliceInstructions = 100'000;
inline constexpr Duration kSliceTime = std::chrono::milliseconds(5);

// A slice cannot end within functions that C calls: an order of table.sort, a replacement of
// string.gsub, a handler of <close>. Where it goes on for this long the program is ended. What
// instructions_max allows takes a fraction of it, unless each of them works on long strings.
inline constexpr Duration kUnbrokenTimeMax = std::chrono::seconds(5);

// How often a limit and the end of a slice are noticed, where no instruction can take long
// (LuaBlocks).
inline constexpr int kHookInstructions = 100;

// How a coroutine came back from resume().
enum class LuaOutcome : uint8_t {
  kReturned,   // its values are on its stack
  kSuspended,  // it called something that waits
  kSliced,     // its slice is over; it wants to go on
  kFailed,     // the error is on top of its stack
};

class LuaState {
 public:
  // Makes an interpreter with the sandbox's functions. ENSUREs that the limits allow that (some
  // 100 KB). `owner` is what owner() returns, for functions that Lua calls. The count of
  // instructions is exact to kHookInstructions for each slice. `clock` outlives it and decides only
  // where slices end, which no program can tell.
  LuaState(const ProgramLimits& limits, const Clock& clock, void* owner);
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  lua_State* main() { return state_; }

  // Of any coroutine of a state: the LuaState, and its `owner`.
  static LuaState& of(lua_State* state);
  void* owner() const { return owner_; }

  // Puts the function of a chunk of source text on top of `on`'s stack. kInvalid when it does not
  // compile, with "NAME:LINE: what"; binary chunks are refused.
  Result<void> load(lua_State* on, std::string_view source, const std::string& name);

  // Resumes a coroutine with `arguments` values on its stack. `results`: how many are on its stack
  // then. Once a limit was hit the outcome is kFailed with its message, and the coroutine must not
  // be resumed again.
  LuaOutcome resume(lua_State* coroutine, int arguments, int* results);

  // The instructions that count against the limit: those of the task that runs since it last
  // waited, which its owner keeps.
  int64_t instructions() const { return instructions_; }
  void set_instructions(int64_t instructions) { instructions_ = instructions; }

  // Ends a coroutine wherever it is: its <close> variables are closed, its stack is emptied. Their
  // errors are dropped. After a limit was hit they are not closed, because that is code of the
  // program; what they hold is released with the state.
  void close(lua_State* coroutine);

  // Work that a C function does, where no hook reaches, counted as so many instructions. Called
  // before the work: raises an error when the limit would be exceeded.
  static void charge(lua_State* state, int64_t instructions);

  // Called by a C function that may have taken long without being charged: the slice ends at the
  // next instruction if its time is over.
  static void end_long_slice(lua_State* state);

  // A limit was hit; the first one counts. From now on no code of the program runs: what is
  // running ends at its next instruction, and resume() fails. Also called by the owner for limits
  // of its own.
  void forbid(std::string_view code, std::string message);

  // The limit of memory was hit outside resume().
  void forbid_for_memory();

  bool is_forbidden() const { return !forbidden_code_.empty(); }
  std::string_view forbidden_code() const { return forbidden_code_; }
  const std::string& forbidden_message() const { return forbidden_message_; }

  size_t bytes() const { return bytes_; }
  size_t bytes_peak() const { return bytes_peak_; }

  // Runs a whole collection.
  void collect();

 private:
  static void* allocate(void* self, void* block, size_t old_bytes, size_t new_bytes);
  static void on_count(lua_State* state, lua_Debug* record);
  static int on_panic(lua_State* state);

  void* make(size_t kind, size_t bytes);
  void* resize(void* block, size_t old_bytes, size_t new_bytes);
  void count_bytes(size_t old_bytes, size_t new_bytes);
  bool may_grow(size_t bytes);
  int instructions_at_once() const;
  void count_work(int64_t instructions);
  bool is_slice_over() const;
  void stop_at_next_instruction();
  void notice_limits();
  void push_error(lua_State* coroutine, const char* message);

  const ProgramLimits limits_;
  const Clock& clock_;
  void* const owner_;
  const int hook_instructions_;  // between two calls of on_count
  lua_State* state_ = nullptr;
  lua_State* running_ = nullptr;  // the coroutine in resume() or close()
  bool is_sliced_ = false;        // on_count has suspended it
  TimePoint slice_began_;
  int64_t slice_instructions_ = 0;  // of this slice
  size_t bytes_ = 0;
  size_t bytes_peak_ = 0;
  LuaBlocks blocks_;
  bool out_of_memory_ = false;
  bool out_of_stack_ = false;
  size_t refused_bytes_ = 0;  // of the last request, if it was refused
  int64_t instructions_ = 0;
  int64_t work_ = 0;  // charged and not yet part of instructions_
  std::string forbidden_code_;
  std::string forbidden_message_;
};

}  // namespace windrow::program
