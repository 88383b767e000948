#include "engine/sampling/logit_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__))
#define WINDROW_HAVE_AVX_TARGETS 1
#else
#define WINDROW_HAVE_AVX_TARGETS 0
#endif

namespace windrow::engine {
namespace {

constexpr size_t kLanes = 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// exp(-87) is the smallest that is a normal number.
constexpr float kExponentMin = -87.0F;

struct Extent {
  float max = -kInfinity;
  float min = kInfinity;
  bool any_nan = false;
};

// Sixteen columns, folded at the end: the order of a sum does not follow the machine's vectors.
[[gnu::always_inline]] inline Extent extent_body(const float* logits) {
  float max[kLanes];
  float min[kLanes];
  uint32_t nan[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    max[lane] = -kInfinity;
    min[lane] = kInfinity;
    nan[lane] = 0;
  }
  for (size_t i = 0; i < kBlockSize; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[i + lane];
      max[lane] = logit > max[lane] ? logit : max[lane];
      min[lane] = logit < min[lane] ? logit : min[lane];
      nan[lane] |= logit != logit ? 1U : 0U;
    }
  }
  Extent extent;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    extent.max = std::max(extent.max, max[lane]);
    extent.min = std::min(extent.min, min[lane]);
    extent.any_nan |= nan[lane] != 0;
  }
  return extent;
}

// e^x for -87 <= x <= 0: x = n ln 2 + r, e^r by a polynomial (Cephes, Moshier), 2^n by its bits.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float shifted = x * 1.44269504088896341F + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float e = p * (r * r) + r + 1.0F;
  const uint32_t power = std::bit_cast<uint32_t>(shifted) << 23;  // the low bits hold n
  return std::bit_cast<float>(std::bit_cast<uint32_t>(e) + power);
}

[[gnu::always_inline]] inline double sum_of(const float* values) {
  float sums[kLanes] = {};
  for (size_t i = 0; i < kBlockSize; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += values[i + lane];
  }
  double sum = 0;
  for (const float one : sums)
    sum += static_cast<double>(one);
  return sum;
}

template <bool divide>
[[gnu::always_inline]] inline double weigh_all(const float* logits, const Weighing& how,
                                               float* weights) {
  for (size_t i = 0; i < kBlockSize; ++i) {
    const float below = logits[i] - how.max;
    const float exponent = divide ? below / how.temperature : below;
    const float in_range = exponent > kExponentMin ? exponent : kExponentMin;
    const float weight = exp_of(in_range);
    const bool counts =
        (logits[i] >= how.lowest) & (logits[i] <= how.highest) & (exponent >= kExponentMin);
    weights[i] = counts ? weight : 0.0F;
  }
  return sum_of(weights);
}

[[gnu::always_inline]] inline double weigh_body(const float* logits, const Weighing& weighing,
                                                float* weights) {
  const Weighing how = weighing;
  // Filters look at the distribution of temperature 1; dividing by that is time for nothing.
  return how.temperature == 1.0F ? weigh_all<false>(logits, how, weights)
                                 : weigh_all<true>(logits, how, weights);
}

[[gnu::always_inline]] inline double energy_body(const float* logits, float max,
                                                 const float* weights) {
  float energies[kBlockSize];
  for (size_t i = 0; i < kBlockSize; ++i) {
    const float below = max - logits[i];
    // What lies lower has no weight, and may be infinitely low.
    energies[i] = weights[i] * (below < -kExponentMin ? below : -kExponentMin);
  }
  return sum_of(energies);
}

[[gnu::always_inline]] inline void deal_body(const float* logits, const BandScale& scale,
                                             uint16_t* bands) {
  const BandScale how = scale;
  for (size_t i = 0; i < kBlockSize; ++i) {
    const int32_t band = how.band_of(logits[i]);
    const auto turn = static_cast<int32_t>(i % kBandsTooFar);
    bands[i] = static_cast<uint16_t>(band + (band == static_cast<int32_t>(kBands) ? turn : 0));
  }
}

struct Kernels {
  Extent (*extent)(const float* logits);
  double (*weigh)(const float* logits, const Weighing& weighing, float* weights);
  double (*energy)(const float* logits, float max, const float* weights);
  void (*deal)(const float* logits, const BandScale& scale, uint16_t* bands);
};

Extent extent_plain(const float* logits) {
  return extent_body(logits);
}

double weigh_plain(const float* logits, const Weighing& weighing, float* weights) {
  return weigh_body(logits, weighing, weights);
}

double energy_plain(const float* logits, float max, const float* weights) {
  return energy_body(logits, max, weights);
}

void deal_plain(const float* logits, const BandScale& scale, uint16_t* bands) {
  deal_body(logits, scale, bands);
}

#if WINDROW_HAVE_AVX_TARGETS
[[gnu::target("avx2")]] Extent extent_avx2(const float* logits) {
  return extent_body(logits);
}

[[gnu::target("avx2")]] double weigh_avx2(const float* logits, const Weighing& weighing,
                                          float* weights) {
  return weigh_body(logits, weighing, weights);
}

[[gnu::target("avx2")]] double energy_avx2(const float* logits, float max, const float* weights) {
  return energy_body(logits, max, weights);
}

[[gnu::target("avx2")]] void deal_avx2(const float* logits, const BandScale& scale,
                                       uint16_t* bands) {
  deal_body(logits, scale, bands);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] Extent extent_avx512(const float* logits) {
  return extent_body(logits);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] double weigh_avx512(const float* logits,
                                                                          const Weighing& weighing,
                                                                          float* weights) {
  return weigh_body(logits, weighing, weights);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] double energy_avx512(const float* logits,
                                                                           float max,
                                                                           const float* weights) {
  return energy_body(logits, max, weights);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void deal_avx512(const float* logits,
                                                                       const BandScale& scale,
                                                                       uint16_t* bands) {
  deal_body(logits, scale, bands);
}
#endif

Kernels choose_kernels() {
#if WINDROW_HAVE_AVX_TARGETS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return {extent_avx512, weigh_avx512, energy_avx512, deal_avx512};
  }
  if (__builtin_cpu_supports("avx2")) return {extent_avx2, weigh_avx2, energy_avx2, deal_avx2};
#endif
  return {extent_plain, weigh_plain, energy_plain, deal_plain};
}

const Kernels& kernels() {
  static const Kernels kKernels = choose_kernels();
  return kKernels;
}

// The loops take whole blocks; behind a short one comes what can never be drawn.
const float* whole(std::span<const float> block, BlockWeights& copy) {
  if (block.size() == kBlockSize) return block.data();
  std::copy(block.begin(), block.end(), copy.begin());
  std::fill(copy.begin() + static_cast<ptrdiff_t>(block.size()), copy.end(), -kInfinity);
  return copy.data();
}

}  // namespace

std::span<const float> LogitBlocks::block(size_t block) const {
  const size_t first = first_of(block);
  return logits_.subspan(first, std::min(kBlockSize, logits_.size() - first));
}

bool LogitBlocks::scan(std::span<const float> logits) {
  logits_ = logits;
  maxima_.resize((logits.size() + kBlockSize - 1) / kBlockSize);
  max_ = -kInfinity;
  min_ = kInfinity;
  bool any_nan = false;
  BlockWeights copy;
  const auto extent_of = kernels().extent;
  for (size_t i = 0; i < maxima_.size(); ++i) {
    const std::span<const float> part = block(i);
    const Extent extent = extent_of(whole(part, copy));
    maxima_[i] = extent.max;
    max_ = std::max(max_, extent.max);
    // The filling of a short block is no logit.
    min_ = std::min(
        min_, part.size() == kBlockSize ? extent.min : *std::min_element(part.begin(), part.end()));
    any_nan |= extent.any_nan;
  }
  return !any_nan && std::isfinite(max_);
}

double LogitBlocks::weigh(size_t block_index, const Weighing& weighing,
                          BlockWeights& weights) const {
  BlockWeights copy;
  return kernels().weigh(whole(block(block_index), copy), weighing, weights.data());
}

double LogitBlocks::energy(size_t block_index, float max, const BlockWeights& weights) const {
  BlockWeights copy;
  return kernels().energy(whole(block(block_index), copy), max, weights.data());
}

void LogitBlocks::deal(size_t block_index, const BandScale& scale, uint16_t* bands) const {
  BlockWeights copy;
  kernels().deal(whole(block(block_index), copy), scale, bands);
}

}  // namespace windrow::engine
