// Budget: what is left of the limits of a rendering. Everything that loops, makes text or recurses
// asks it first, and gets a Failure (kLimit) if there is too little. Counts steps, not time: the
// same template with the same variables always ends at the same point. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jinja/failure.h"
#include "jinja/template.h"

namespace windrow::jinja {

class Budget {
 public:
  explicit Budget(const Limits& limits)
      : limits_(limits),
        left_(limits.operations_max),
        stack_begin_(reinterpret_cast<uintptr_t>(__builtin_frame_address(0))) {}

  void spend(uint64_t operations) {
    if (operations > left_) out_of_operations();
    left_ -= operations;
  }

  // Called before `more_bytes` of text are made, in a text of `total_bytes`.
  void spend_text(size_t more_bytes, size_t total_bytes) {
    if (total_bytes > limits_.output_bytes_max) text_too_long();
    spend(1 + more_bytes / 16);
  }

  int depth_max() const { return limits_.depth_max; }

  // One level of nesting, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.depth_max) {
        --budget_.depth_;
        too_deep();
      }
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

  // Called by every function that may recurse: independent of the level count, the stack must not
  // run out.
  void check_stack() const {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const uintptr_t used = here < stack_begin_ ? stack_begin_ - here : here - stack_begin_;
    if (used > kStackBytesMax) too_deep();
  }

  // Thread stacks have 8 MiB on Linux and may have 512 KiB on other systems.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr uintptr_t kStackBytesMax = uintptr_t{3} << 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static constexpr uintptr_t kStackBytesMax = uintptr_t{3} << 20;
#else
  static constexpr uintptr_t kStackBytesMax = uintptr_t{384} << 10;
#endif
#else
  static constexpr uintptr_t kStackBytesMax = uintptr_t{384} << 10;
#endif

 private:
  [[noreturn, gnu::cold]] static void too_deep() {
    throw Failure{Failure::Kind::kLimit, "too much within each other: calls, blocks or lists"};
  }
  [[noreturn, gnu::cold]] void out_of_operations() const {
    throw Failure{Failure::Kind::kLimit,
                  fmt::format("the rendering takes more than {} steps", limits_.operations_max)};
  }
  [[noreturn, gnu::cold]] void text_too_long() const {
    throw Failure{Failure::Kind::kLimit,
                  fmt::format("a text is longer than {} bytes", limits_.output_bytes_max)};
  }

  Limits limits_;
  uint64_t left_;
  uintptr_t stack_begin_;
  int depth_ = 0;
};

}  // namespace windrow::jinja
