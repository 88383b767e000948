// PrefixShare: the share of prompt tokens that lie in a prefix of an earlier prompt.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace windrow::report {

// A prompt token is shared if another prompt has the same prefix up to and including it; one of
// those prompts has to compute it, and the others need not. In other words: the prompts are put
// into a prefix tree, and share() is the part of their tokens that added no node. It does not
// depend on the order of the prompts. Used by one thread.
//
// Memory is bounded: exact up to kExactMax nodes, beyond that they are estimated (HyperLogLog,
// Flajolet et al. 2007) with a standard error of 0.8 % of their number.
class PrefixShare {
 public:
  static constexpr size_t kExactMax = size_t{1} << 18;

  PrefixShare();

  void add(std::span<const int32_t> prompt);

  int64_t tokens() const { return tokens_; }

  // From 0 to 1.
  double share() const;

 private:
  double nodes() const;

  int64_t tokens_ = 0;
  bool exact_ = true;
  boost::unordered_flat_set<uint64_t> seen_;
  std::vector<uint8_t> registers_;
};

}  // namespace windrow::report
