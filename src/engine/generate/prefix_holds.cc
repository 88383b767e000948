#include "engine/generate/prefix_holds.h"

#include <utility>

namespace windrow::engine {

class PrefixHolds::Hold final : public llm::PrefixHold {
 public:
  Hold(std::shared_ptr<PrefixHolds> holds, HoldId id) : holds_(std::move(holds)), id_(id) {}
  ~Hold() override { holds_->add({.hold = id_, .tokens = {}}); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  const std::shared_ptr<PrefixHolds> holds_;
  const HoldId id_;
};

std::unique_ptr<llm::PrefixHold> PrefixHolds::hold(std::vector<Token> tokens) {
  if (tokens.empty()) return nullptr;
  HoldId id;
  {
    const std::scoped_lock lock(mutex_);
    id = HoldId(next_++);
  }
  // First the owner, so that a failed allocation leaves no hold without one.
  auto owner = std::make_unique<Hold>(shared_from_this(), id);
  add({.hold = id, .tokens = std::move(tokens)});
  return owner;
}

// The lock is held while the engine is woken: it may not end meanwhile.
void PrefixHolds::add(HoldChange change) {
  const std::scoped_lock lock(mutex_);
  if (!wake_) return;
  changes_.push_back(std::move(change));
  wake_();
}

std::vector<HoldChange> PrefixHolds::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(changes_, {});
}

void PrefixHolds::close() {
  const std::scoped_lock lock(mutex_);
  wake_ = nullptr;
  changes_.clear();
}

}  // namespace windrow::engine
