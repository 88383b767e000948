#include "program/lua/lua_blocks.h"

#include <algorithm>
#include <lua.hpp>
#include <utility>

namespace windrow::program {
namespace {

constexpr size_t kSlotBytes = 16;

// Lua keeps some slots beyond those it counts.
constexpr size_t kExtraBytes = 5 * kSlotBytes;
constexpr size_t kStackBytesMin = 40 * kSlotBytes + kExtraBytes;

constexpr size_t stack_bytes(size_t slots) {
  return slots * kSlotBytes + kExtraBytes;
}

// Measured: a chain of __call moves 1e9 values a second; two strings of zeros are compared at 100
// MB a second, all others faster.
constexpr size_t kSlowStackBytes = stack_bytes(640);
constexpr size_t kVerySlowStackBytes = stack_bytes(2560);
constexpr size_t kSlowStringBytes = size_t{16} << 10;
constexpr size_t kVerySlowStringBytes = size_t{256} << 10;

}  // namespace

// A stack that is full becomes twice as long.
bool LuaBlocks::would_be_long_stack(size_t kind, size_t bytes) const {
  if (kind != 0 || bytes <= stack_bytes(kStackSlotsMax)) return false;
  return std::any_of(stacks_.begin(), stacks_.end(),
                     [&](const auto& stack) { return bytes == 2 * stack.second - kExtraBytes; });
}

void LuaBlocks::on_made(const void* block, size_t kind, size_t bytes) noexcept {
  last_made_ = nullptr;
  if (kind == LUA_TTHREAD) {
    expects_stack_ = true;
  } else if (kind == LUA_TSTRING) {
    const Slow slow = slowness_of_string(bytes);
    if (slow == kNot) return;
    long_strings_.insert(block);
    ++count_[slow];
  } else if (kind == 0) {
    if (std::exchange(expects_stack_, false)) return add_stack(block, bytes);
    last_made_ = block;
    last_bytes_ = bytes;
  }
}

void LuaBlocks::on_resized(const void* block, size_t bytes, const void* made,
                           size_t new_bytes) noexcept {
  last_made_ = nullptr;
  if (drop_stack(block, bytes)) add_stack(made, new_bytes);
}

// Lua 5.4.4 gives a stack another length so: it makes a block, and frees the old one at once.
void LuaBlocks::on_freed(const void* block, size_t bytes) noexcept {
  const void* const made = std::exchange(last_made_, nullptr);
  if (bytes >= kSlowStringBytes && long_strings_.erase(block) > 0) {
    --count_[slowness_of_string(bytes)];
  } else if (drop_stack(block, bytes) && made != nullptr) {
    add_stack(made, last_bytes_);
  }
}

int LuaBlocks::instructions_at_once(int normally) const {
  if (count_[kVerySlow] > 0) return std::min(normally, 2);
  return count_[kSlow] > 0 ? std::min(normally, 10) : normally;
}

LuaBlocks::Slow LuaBlocks::slowness_of_stack(size_t bytes) {
  if (bytes <= kSlowStackBytes) return kNot;
  return bytes <= kVerySlowStackBytes ? kSlow : kVerySlow;
}

LuaBlocks::Slow LuaBlocks::slowness_of_string(size_t bytes) {
  if (bytes < kSlowStringBytes) return kNot;
  return bytes < kVerySlowStringBytes ? kSlow : kVerySlow;
}

void LuaBlocks::add_stack(const void* block, size_t bytes) noexcept {
  stacks_[block] = bytes;
  ++count_[slowness_of_stack(bytes)];
  if (bytes > stack_bytes(kStackSlotsMax)) has_long_stack_ = true;
}

bool LuaBlocks::drop_stack(const void* block, size_t bytes) noexcept {
  if (bytes < kStackBytesMin || stacks_.erase(block) == 0) return false;
  --count_[slowness_of_stack(bytes)];
  return true;
}

}  // namespace windrow::program
