#include "simulate/trace.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"

namespace windrow::simulate {
namespace {

constexpr size_t kKept = 60;

}  // namespace

// One round of splitmix64 (base/random.h) over what came before and what comes.
void Trace::mix(uint64_t value) {
  uint64_t z = (hash_ ^ value) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  hash_ = z ^ (z >> 31);
}

void Trace::step(uint64_t thread, uint64_t what) {
  mix(thread << 8 | what);
}

void Trace::event(TimePoint now, uint64_t thread, std::string_view text) {
  std::string line =
      fmt::format("{:>14.6f} s  thread {:<3} {}", seconds(now.time_since_epoch()), thread, text);
  mix(hash64(line));
  if (show_) show_(line);
  last_.push_back(std::move(line));
  if (last_.size() > kKept) last_.pop_front();
}

}  // namespace windrow::simulate
