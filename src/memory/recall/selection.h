// Selection: which of the ranked memories are returned: as many as a number of tokens allows, from
// the best on. Pure; used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "memory/bank/memory.h"

namespace windrow::memory {

struct SelectionOptions {
  int64_t tokens_max = 4096;  // of the texts
  bool prefer_observations = false;
  std::function<int64_t(std::string_view)> count_tokens;
};

class Selection {
 public:
  explicit Selection(SelectionOptions options) : options_(std::move(options)) {}

  // Offers the next one, best first. False if it does not fit any more: the selection ends with the
  // first that does not, so that no weaker short one takes the place of a better long one.
  //
  // With prefer_observations a fact that is a source of a selected observation takes no place,
  // whichever of the two is offered first.
  bool offer(const Memory& memory);

  // The ids of those selected, in the order of their offers.
  const std::vector<MemoryId>& selected() const { return selected_; }
  int64_t tokens() const { return tokens_; }

 private:
  void replace_sources_of(const Memory& observation);

  const SelectionOptions options_;
  std::vector<MemoryId> selected_;
  std::map<MemoryId, int64_t> tokens_of_;  // of those selected
  std::set<MemoryId> covered_;             // sources of selected observations
  int64_t tokens_ = 0;
};

}  // namespace windrow::memory
