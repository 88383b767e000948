// FlatSegment: vectors of one length that are searched by looking at all of them: exact, and fast
// up to some hundred thousand. Further kinds of segments (graphs) can stand beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace windrow::vectors {

struct Neighbour {
  int64_t row = 0;
  float cosine = 0;
  friend bool operator==(const Neighbour&, const Neighbour&) = default;
};

// The cosine of vectors of length 1: their inner product. Of equal sizes.
float inner_product(std::span<const float> one, std::span<const float> other);

// Not thread-safe; searches may run side by side while nothing changes.
class FlatSegment {
 public:
  // Of so many numbers each; at least 1.
  explicit FlatSegment(size_t dimension);

  size_t dimension() const { return dimension_; }
  size_t size() const { return rows_.size(); }  // vectors that are not removed

  // Adds the vector of a row, of length 1, or replaces it.
  void set(int64_t row, std::span<const float> vector);
  void remove(int64_t row);  // no effect if there is none

  // The `count_max` rows with the highest cosine of those that `allows` (empty: all), best first;
  // equal ones by row. `allows` is asked only about rows that are near enough. A vector with
  // numbers that are not finite is near none.
  std::vector<Neighbour> nearest(std::span<const float> vector, size_t count_max,
                                 const std::function<bool(int64_t row)>& allows = {}) const;

 private:
  const size_t dimension_;
  const size_t stride_;  // numbers from one vector to the next: whole lanes, the rest is 0

  // In no order; a removed one is overwritten by the last.
  std::vector<float> numbers_;
  std::vector<int64_t> rows_;
  std::unordered_map<int64_t, size_t> place_of_row_;
};

}  // namespace windrow::vectors
