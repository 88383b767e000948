#include "report/prefix_share.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace windrow::report {
namespace {

constexpr int kIndexBits = 14;
constexpr size_t kRegisters = size_t{1} << kIndexBits;

// Every bit of the result depends on every bit of `value` (splitmix64, Steele et al. 2014).
uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

PrefixShare::PrefixShare() : registers_(kRegisters, 0) {}

void PrefixShare::add(std::span<const int32_t> prompt) {
  uint64_t prefix = 0x9E3779B97F4A7C15ULL;
  for (const int32_t token : prompt) {
    prefix = mixed(prefix + 0x9E3779B97F4A7C15ULL * (static_cast<uint32_t>(token) + 1ULL));
    if (exact_) seen_.insert(prefix);
    uint8_t& highest = registers_[prefix >> (64 - kIndexBits)];
    // The guard bit ends the count for a remainder of zeros.
    const uint64_t rest = (prefix << kIndexBits) | (uint64_t{1} << (kIndexBits - 1));
    highest = std::max(highest, static_cast<uint8_t>(std::countl_zero(rest) + 1));
  }
  tokens_ += static_cast<int64_t>(prompt.size());
  if (exact_ && seen_.size() > kExactMax) {
    exact_ = false;
    seen_ = {};
  }
}

double PrefixShare::nodes() const {
  if (exact_) return static_cast<double>(seen_.size());
  double sum = 0;
  for (const uint8_t highest : registers_)
    sum += std::ldexp(1.0, -highest);
  constexpr double kCount = kRegisters;
  constexpr double kAlpha = 0.7213 / (1 + 1.079 / kCount);
  return kAlpha * kCount * kCount / sum;
}

double PrefixShare::share() const {
  if (tokens_ == 0) return 0;
  return std::clamp(1 - nodes() / static_cast<double>(tokens_), 0.0, 1.0);
}

}  // namespace windrow::report
