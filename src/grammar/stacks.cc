#include "grammar/stacks.h"

#include <algorithm>
#include <string_view>

#include "base/hash.h"

namespace windrow::grammar {
namespace {

constexpr int kUniteDepthMax = 300;
constexpr size_t kUnitedBytes = 100;  // memory of one entry, about

}  // namespace

void Stacks::clear() {
  frames_.assign(1, {.node = kEndNode});
  from_.assign({0, 1});
  table_.clear();
  member_sets_ = MemberSets();
  united_.clear();
}

StackId Stacks::intern(std::span<const Frame> frames) {
  if (frames.size() == 1 && frames[0].node == kEndNode) return kEnd;
  const uint64_t hash =
      hash64({reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(Frame)});
  const uint32_t found =
      table_.find(hash, [&](uint32_t id) { return std::ranges::equal(this->frames(id), frames); });
  if (found != IdTable::kNone) return found;
  const StackId id = static_cast<StackId>(count());
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  from_.push_back(static_cast<uint32_t>(frames_.size()));
  table_.insert(hash, id);
  return id;
}

StackId Stacks::unite(std::vector<StackId> stacks, Work& work, int depth) {
  std::sort(stacks.begin(), stacks.end());
  stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  if (stacks.size() == 1) return stacks[0];
  if (const auto found = united_.find(stacks); found != united_.end()) return found->second;

  std::vector<Frame> all;
  for (const StackId stack : stacks) {
    const std::span<const Frame> some = frames(stack);
    all.insert(all.end(), some.begin(), some.end());
  }
  work.done += all.size();
  if (work.done > work.max) return stacks[0];
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<Frame> united;
  for (size_t at = 0; at < all.size();) {
    Frame frame = all[at];
    std::vector<StackId> below;
    for (; at < all.size() && all[at].is_like(frame); ++at)
      below.push_back(all[at].below);
    if (below.size() == 1 || depth < kUniteDepthMax) {
      frame.below = unite(std::move(below), work, depth + 1);
      united.push_back(frame);
      continue;
    }
    for (const StackId each : below) {
      frame.below = each;
      united.push_back(frame);
    }
  }
  if (work.done > work.max) return stacks[0];
  const StackId id = intern(united);
  united_.emplace(std::move(stacks), id);
  return id;
}

size_t Stacks::memory_bytes() const {
  return frames_.capacity() * sizeof(Frame) + from_.capacity() * sizeof(uint32_t) +
         table_.memory_bytes() + member_sets_.memory_bytes() + united_.size() * kUnitedBytes;
}

}  // namespace windrow::grammar
