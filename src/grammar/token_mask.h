// TokenMask: which tokens may come next, a bit for each token of a vocabulary.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace windrow::grammar {

class TokenMask {
 public:
  explicit TokenMask(int32_t vocabulary_size)
      : size_(vocabulary_size), words_((static_cast<size_t>(vocabulary_size) + 63) / 64) {}

  bool allows(int32_t token) const {
    return token >= 0 && token < size_ &&
           ((words_[static_cast<size_t>(token) / 64] >> (token % 64)) & 1U) != 0;
  }
  void allow(int32_t token) {
    words_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  }

  void forbid(int32_t token) {
    words_[static_cast<size_t>(token) / 64] &= ~(uint64_t{1} << (token % 64));
  }

  int32_t size() const { return size_; }
  int32_t count() const {
    int32_t count = 0;
    for (const uint64_t word : words_)
      count += std::popcount(word);
    return count;
  }

  // Bit i of word w is token 64 * w + i; bits after the last token are 0.
  std::span<const uint64_t> words() const { return words_; }
  std::span<uint64_t> words() { return words_; }

  friend bool operator==(const TokenMask&, const TokenMask&) = default;

 private:
  int32_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace windrow::grammar
