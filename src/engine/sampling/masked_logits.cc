#include "engine/sampling/masked_logits.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/ensure.h"

namespace windrow::engine {
namespace {

constexpr size_t kWordBits = 64;

// Gathering one token costs as much as reading about so many.
constexpr size_t kGatherShare = 8;

// Calls `each` with every bit that is set, the lowest first.
template <class Each>
void for_each_bit(uint64_t word, Each each) {
  while (word != 0) {
    each(static_cast<size_t>(std::countr_zero(word)));
    word &= word - 1;
  }
}

}  // namespace

std::span<const float> MaskedLogits::apply(std::span<const float> logits,
                                           std::span<const uint64_t> mask) {
  ENSURE(mask.size() == (logits.size() + kWordBits - 1) / kWordBits,
         "a mask of {} words is not for {} tokens", mask.size(), logits.size());
  size_t count = 0;
  for (const uint64_t word : mask)
    count += static_cast<size_t>(std::popcount(word));
  gathered_ = count <= logits.size() / kGatherShare;
  if (gathered_) {
    gather(logits, mask);
  } else {
    copy(logits, mask);
  }
  return logits_;
}

void MaskedLogits::gather(std::span<const float> logits, std::span<const uint64_t> mask) {
  logits_.clear();
  tokens_.clear();
  for (size_t w = 0; w < mask.size(); ++w) {
    for_each_bit(mask[w], [&](size_t bit) {
      const size_t token = w * kWordBits + bit;
      tokens_.push_back(static_cast<Token>(token));
      logits_.push_back(logits[token]);
    });
  }
}

void MaskedLogits::copy(std::span<const float> logits, std::span<const uint64_t> mask) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  logits_.resize(logits.size());
  for (size_t w = 0; w < mask.size(); ++w) {
    const size_t first = w * kWordBits;
    const size_t size = std::min(kWordBits, logits.size() - first);
    float* target = logits_.data() + first;
    const float* source = logits.data() + first;
    const uint64_t every = size == kWordBits ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
    const uint64_t word = mask[w] & every;
    // The rarer kind is written one by one.
    if (static_cast<size_t>(std::popcount(word)) * 2 > size) {
      std::copy_n(source, size, target);
      for_each_bit(~word & every, [&](size_t bit) { target[bit] = kNever; });
    } else {
      std::fill_n(target, size, kNever);
      for_each_bit(word, [&](size_t bit) { target[bit] = source[bit]; });
    }
  }
}

std::optional<Token> only_token(std::span<const uint64_t> mask) {
  std::optional<Token> only;
  for (size_t w = 0; w < mask.size(); ++w) {
    if (mask[w] == 0) continue;
    if (only || !std::has_single_bit(mask[w])) return std::nullopt;
    only = static_cast<Token>(w * kWordBits + static_cast<size_t>(std::countr_zero(mask[w])));
  }
  return only;
}

}  // namespace windrow::engine
