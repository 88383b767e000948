// MemberSets: which members of an object are written so far, as sets of small numbers. Each set is
// stored once and is a number itself, so that a frame of a stack can have one (stacks.h). Sets are
// made when they are first met. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/lexeme/hash_tables.h"
#include "grammar/text_trie.h"

namespace windrow::grammar {

using MemberSetId = uint32_t;

class MemberSets {
 public:
  static constexpr MemberSetId kNone = 0;  // the set of no member

  using Range = TextTrie::Range;

  MemberSets() { sets_.intern({}); }

  // The set and one more member, which is not in it.
  MemberSetId with(MemberSetId set, uint32_t member);

  uint32_t size(MemberSetId set) const;
  bool contains(MemberSetId set, uint32_t member) const {
    return (word(sets_.get(set), member / kBits) >> (member % kBits) & 1) != 0;
  }

  // Whether a member of the range is not in the set. With `only`, bits like those of members(), one
  // of these.
  bool lacks_some(MemberSetId set, Range range, std::span<const uint32_t> only) const;
  bool lacks_some(MemberSetId set, Range range) const { return lacks_some(set, range, {}, ~0U); }

  // How many of these members, bits like those of members(), are not in the set.
  uint32_t missing(MemberSetId set, std::span<const uint32_t> of) const;

  // Bit i of word j is member 32 j + i; the last word is not 0. Valid until a set is made.
  std::span<const uint32_t> members(MemberSetId set) const { return sets_.get(set); }
  MemberSetId intern(std::span<const uint32_t> members) { return sets_.intern(members).first; }

  size_t count() const { return sets_.size(); }
  size_t memory_bytes() const { return sets_.memory_bytes(); }

 private:
  static constexpr uint32_t kBits = 32;

  static uint32_t word(std::span<const uint32_t> words, size_t i) {
    return i < words.size() ? words[i] : 0;
  }
  bool lacks_some(MemberSetId set, Range range, std::span<const uint32_t> only,
                  uint32_t behind_only) const;

  Interner sets_;
  std::vector<uint32_t> scratch_;
};

}  // namespace windrow::grammar
