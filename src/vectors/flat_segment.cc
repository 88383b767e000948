#include "vectors/flat_segment.h"

#include <algorithm>
#include <array>

#include "base/ensure.h"

namespace windrow::vectors {
namespace {

// Sums that are kept side by side: four registers of eight floats. Without them the order of the
// additions would be fixed, and no compiler could use a vector unit.
constexpr size_t kLanes = 32;

// Vectors that are compared before the best are chosen: the results of one block stay in the cache.
constexpr size_t kBlock = 512;

constexpr size_t whole_lanes(size_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

float total_of(const std::array<float, kLanes>& sums) {
  float total = 0;
  for (const float sum : sums)
    total += sum;
  return total;
}

// `count` is a multiple of kLanes.
[[gnu::always_inline]] inline void add_products(const float* one, const float* other, size_t count,
                                                std::array<float, kLanes>& sums) {
  for (size_t i = 0; i < count; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += one[i + lane] * other[i + lane];
}

[[gnu::always_inline]] inline void compare_rows(const float* rows, size_t count, size_t stride,
                                                const float* vector, float* products) {
  for (size_t i = 0; i < count; ++i) {
    std::array<float, kLanes> sums = {};
    add_products(rows + i * stride, vector, stride, sums);
    products[i] = total_of(sums);
  }
}

// The inner products of `count` vectors, `stride` numbers apart, with one.
using Compare = void (*)(const float* rows, size_t count, size_t stride, const float* vector,
                         float* products);

void compare_on_any(const float* rows, size_t count, size_t stride, const float* vector,
                    float* products) {
  compare_rows(rows, count, stride, vector, products);
}

#if defined(__x86_64__)
// The same, compiled for processors of 2013 and later.
[[gnu::target("avx2,fma")]] void compare_on_avx2(const float* rows, size_t count, size_t stride,
                                                 const float* vector, float* products) {
  compare_rows(rows, count, stride, vector, products);
}
#endif

// For this processor. Chosen here and not by the loader (target_clones), because ThreadSanitizer
// does not run before the loader's choice.
Compare compare_here() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    return compare_on_avx2;
#endif
  return compare_on_any;
}

bool is_better(const Neighbour& one, const Neighbour& other) {
  if (one.cosine != other.cosine) return one.cosine > other.cosine;
  return one.row < other.row;
}

// The best few of many: a heap with the worst of them in front.
class Best {
 public:
  explicit Best(size_t count_max) : count_max_(count_max) {}

  bool would_take(const Neighbour& neighbour) const {
    return kept_.size() < count_max_ || is_better(neighbour, kept_.front());
  }

  void take(const Neighbour& neighbour) {
    if (kept_.size() == count_max_) {
      std::ranges::pop_heap(kept_, is_better);
      kept_.pop_back();
    }
    kept_.push_back(neighbour);
    std::ranges::push_heap(kept_, is_better);
  }

  std::vector<Neighbour> sorted() && {
    std::ranges::sort_heap(kept_, is_better);
    return std::move(kept_);
  }

 private:
  const size_t count_max_;
  std::vector<Neighbour> kept_;
};

}  // namespace

float inner_product(std::span<const float> one, std::span<const float> other) {
  ENSURE(one.size() == other.size(), "vectors of {} and {} numbers are compared", one.size(),
         other.size());
  const size_t whole = one.size() / kLanes * kLanes;
  std::array<float, kLanes> sums = {};
  add_products(one.data(), other.data(), whole, sums);
  for (size_t i = whole; i < one.size(); ++i)
    sums[i - whole] += one[i] * other[i];
  return total_of(sums);
}

FlatSegment::FlatSegment(size_t dimension)
    : dimension_(dimension), stride_(whole_lanes(dimension)) {
  ENSURE(dimension > 0, "a vector has no numbers");
}

void FlatSegment::set(int64_t row, std::span<const float> vector) {
  ENSURE(vector.size() == dimension_, "a vector of {} numbers is added to those of {}",
         vector.size(), dimension_);
  const auto [found, is_new] = place_of_row_.try_emplace(row, rows_.size());
  if (is_new) {
    rows_.push_back(row);
    numbers_.resize(numbers_.size() + stride_);
  }
  std::ranges::copy(vector, numbers_.data() + found->second * stride_);
}

void FlatSegment::remove(int64_t row) {
  const auto found = place_of_row_.find(row);
  if (found == place_of_row_.end()) return;
  const size_t place = found->second;
  const size_t last = rows_.size() - 1;
  if (place != last) {
    std::copy_n(numbers_.data() + last * stride_, stride_, numbers_.data() + place * stride_);
    rows_[place] = rows_[last];
    place_of_row_[rows_[place]] = place;
  }
  place_of_row_.erase(row);
  rows_.pop_back();
  numbers_.resize(last * stride_);
}

std::vector<Neighbour> FlatSegment::nearest(std::span<const float> vector, size_t count_max,
                                            const std::function<bool(int64_t row)>& allows) const {
  ENSURE(vector.size() == dimension_, "a vector of {} numbers is compared with those of {}",
         vector.size(), dimension_);
  if (count_max == 0) return {};
  std::vector<float> padded(stride_);
  std::ranges::copy(vector, padded.data());

  const Compare compare = compare_here();
  std::array<float, kBlock> cosines;
  Best best(count_max);
  for (size_t begin = 0; begin < rows_.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, rows_.size() - begin);
    compare(numbers_.data() + begin * stride_, count, stride_, padded.data(), cosines.data());
    for (size_t i = 0; i < count; ++i) {
      const Neighbour neighbour = {.row = rows_[begin + i], .cosine = cosines[i]};
      if (neighbour.cosine != neighbour.cosine || !best.would_take(neighbour)) continue;
      if (!allows || allows(neighbour.row)) best.take(neighbour);
    }
  }
  return std::move(best).sorted();
}

}  // namespace windrow::vectors
