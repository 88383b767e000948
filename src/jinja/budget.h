// Budget: what is left of a rendering's limits. Whatever loops, makes text or nests asks it first.
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

  // Asked before a text of that size, or that much more of one, is made.
  void spend_text(size_t more_bytes, size_t total_bytes) {
    if (total_bytes > limits_.output_bytes_max) text_too_long();
    spend(1 + more_bytes / 16);
  }

  int depth_max() const { return limits_.depth_max; }

  // Counts what is inside what.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      // The count is what people reason about; the stack is what must not run out.
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

  // Asked by every function that may call itself.
  void check_stack() const {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const uintptr_t used = here < stack_begin_ ? stack_begin_ - here : here - stack_begin_;
    if (used > kStackBytesMax) too_deep();
  }

  // Of the thread's stack, which has 8 MiB on Linux and may have 512 KiB elsewhere.
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
