// LuaBlocks: what the blocks of a Lua state's memory are, as far as its allocator can tell: stacks
// of coroutines and long strings. A single instruction can take time in proportion to these, where
// no hook reaches: it compares two strings, reads one as a number, or follows a chain of __call,
// which moves all arguments for each link.
//
// Used by one thread.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>

namespace windrow::program {

// The longest stack of a coroutine, in values. A function without variables takes two for a call.
inline constexpr size_t kStackSlotsMax = 20'480;

class LuaBlocks {
 public:
  // Whether a new block of this kind would be a stack that is too long. `kind` is what Lua gives
  // its allocator in place of the old size, LUA_TSTRING for example; 0 where it is no object.
  bool would_be_long_stack(size_t kind, size_t bytes) const;

  // What the allocator did. noexcept: there is no way back from within it.
  void on_made(const void* block, size_t kind, size_t bytes) noexcept;
  void on_resized(const void* block, size_t bytes, const void* made, size_t new_bytes) noexcept;
  void on_freed(const void* block, size_t bytes) noexcept;

  // A stack was made that is too long, by a function that asks for all at once.
  bool has_long_stack() const { return has_long_stack_; }

  // How many instructions may run, at most, until the next look at the clock, so that it comes
  // after some milliseconds where each of them takes as long as these blocks allow. `normally`:
  // where none of them is long. More than 1 if that is.
  int instructions_at_once(int normally) const;

 private:
  // Sizes from which instructions are slow.
  enum Slow : size_t { kNot, kSlow, kVerySlow, kSlowCount };

  static Slow slowness_of_stack(size_t bytes);
  static Slow slowness_of_string(size_t bytes);
  void add_stack(const void* block, size_t bytes) noexcept;
  bool drop_stack(const void* block, size_t bytes) noexcept;

  boost::unordered_flat_map<const void*, size_t> stacks_;  // their bytes
  boost::unordered_flat_set<const void*> long_strings_;
  std::array<size_t, kSlowCount> count_ = {};  // of these blocks
  bool expects_stack_ = false;                 // a coroutine was made, its stack comes next
  const void* last_made_ = nullptr;            // if nothing has happened since
  size_t last_bytes_ = 0;
  bool has_long_stack_ = false;
};

}  // namespace windrow::program
