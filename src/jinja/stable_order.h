// A stable sort that is safe if the comparison throws or is no strict order (NaN < 1). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace windrow::jinja {

// The indices 0..count-1 in the order of less(i, j); a merge sort.
template <class Less>
std::vector<size_t> stable_order(size_t count, Less&& less) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> merged(count);
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count);
      const size_t end = std::min(begin + 2 * width, count);
      size_t left = begin;
      size_t right = middle;
      for (size_t at = begin; at < end; ++at) {
        const bool take_right = left == middle || (right < end && less(order[right], order[left]));
        merged[at] = order[take_right ? right++ : left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace windrow::jinja
