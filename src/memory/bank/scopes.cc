#include "memory/bank/scopes.h"

#include <algorithm>
#include <utility>

namespace windrow::memory {

Tags::Tags(std::vector<std::string> tags) : tags_(std::move(tags)) {
  std::ranges::sort(tags_);
  tags_.erase(std::ranges::unique(tags_).begin(), tags_.end());
}

}  // namespace windrow::memory
