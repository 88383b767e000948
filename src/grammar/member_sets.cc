#include "grammar/member_sets.h"

#include <algorithm>
#include <bit>

namespace windrow::grammar {

MemberSetId MemberSets::with(MemberSetId set, uint32_t member) {
  const std::span<const uint32_t> words = sets_.get(set);
  scratch_.assign(words.begin(), words.end());
  scratch_.resize(std::max<size_t>(scratch_.size(), member / kBits + 1));
  scratch_[member / kBits] |= 1U << (member % kBits);
  return intern(scratch_);
}

uint32_t MemberSets::size(MemberSetId set) const {
  uint32_t size = 0;
  for (const uint32_t some : sets_.get(set))
    size += static_cast<uint32_t>(std::popcount(some));
  return size;
}

bool MemberSets::lacks_some(MemberSetId set, Range range, std::span<const uint32_t> only) const {
  return lacks_some(set, range, only, 0);
}

bool MemberSets::lacks_some(MemberSetId set, Range range, std::span<const uint32_t> only,
                            uint32_t behind_only) const {
  if (range.first == range.end) return false;
  const std::span<const uint32_t> words = sets_.get(set);
  const uint32_t last = (range.end - 1) / kBits;
  for (uint32_t i = range.first / kBits; i <= last; ++i) {
    uint32_t wanted = i < only.size() ? only[i] : behind_only;
    if (i == range.first / kBits) wanted &= ~0U << (range.first % kBits);
    if (i == last) wanted &= ~0U >> (kBits - 1 - (range.end - 1) % kBits);
    if ((wanted & ~word(words, i)) != 0) return true;
  }
  return false;
}

uint32_t MemberSets::missing(MemberSetId set, std::span<const uint32_t> of) const {
  const std::span<const uint32_t> words = sets_.get(set);
  uint32_t missing = 0;
  for (size_t i = 0; i < of.size(); ++i)
    missing += static_cast<uint32_t>(std::popcount(of[i] & ~word(words, i)));
  return missing;
}

}  // namespace windrow::grammar
