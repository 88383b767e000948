#include "grammar/token_mask.h"

#include <bit>

namespace windrow::grammar {

int32_t TokenMask::count() const {
  int32_t count = 0;
  for (const uint64_t word : words_)
    count += std::popcount(word);
  return count;
}

}  // namespace windrow::grammar
