#include "engine/sampling/logit_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__))
#define WINDROW_HAVE_AVX2_TARGET 1
#else
#define WINDROW_HAVE_AVX2_TARGET 0
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

[[gnu::always_inline]] inline double weigh_body(const float* logits, float max, float temperature,
                                                float limit, float* weights) {
  for (size_t i = 0; i < kBlockSize; ++i) {
    const float exponent = (logits[i] - max) / temperature;
    const float in_range = exponent > kExponentMin ? exponent : kExponentMin;
    const float weight = exp_of(in_range);
    const bool counts = (logits[i] >= limit) & (exponent >= kExponentMin);
    weights[i] = counts ? weight : 0.0F;
  }
  float sums[kLanes] = {};
  for (size_t i = 0; i < kBlockSize; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += weights[i + lane];
  }
  double sum = 0;
  for (const float one : sums)
    sum += static_cast<double>(one);
  return sum;
}

struct Kernels {
  Extent (*extent)(const float* logits);
  double (*weigh)(const float* logits, float max, float temperature, float limit, float* weights);
};

Extent extent_plain(const float* logits) {
  return extent_body(logits);
}

double weigh_plain(const float* logits, float max, float temperature, float limit, float* weights) {
  return weigh_body(logits, max, temperature, limit, weights);
}

#if WINDROW_HAVE_AVX2_TARGET
// Without fused multiplication, which would round otherwise.
[[gnu::target("avx2")]] Extent extent_avx2(const float* logits) {
  return extent_body(logits);
}

[[gnu::target("avx2")]] double weigh_avx2(const float* logits, float max, float temperature,
                                          float limit, float* weights) {
  return weigh_body(logits, max, temperature, limit, weights);
}
#endif

Kernels choose_kernels() {
#if WINDROW_HAVE_AVX2_TARGET
  if (__builtin_cpu_supports("avx2")) return {extent_avx2, weigh_avx2};
#endif
  return {extent_plain, weigh_plain};
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

double LogitBlocks::weigh(size_t block_index, float temperature, float limit,
                          BlockWeights& weights) const {
  BlockWeights copy;
  return kernels().weigh(whole(block(block_index), copy), max_, temperature, limit, weights.data());
}

}  // namespace windrow::engine
