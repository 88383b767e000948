#include "engine/manager/early_holds.h"

#include <algorithm>
#include <utility>

namespace windrow::engine {

// Released when its owner and start() have let go of what it keeps alive.
class EarlyHolds::Hold final : public llm::PrefixHold {
 public:
  explicit Hold(std::shared_ptr<Waiting> waiting) : waiting_(std::move(waiting)) {}

 private:
  const std::shared_ptr<Waiting> waiting_;
};

std::unique_ptr<llm::PrefixHold> EarlyHolds::hold(std::vector<Token> tokens) {
  if (tokens.empty()) return nullptr;
  if (waiting_.size() >= sweep_at_) {
    std::erase_if(waiting_, [](const auto& waiting) { return waiting.expired(); });
    sweep_at_ = std::max(sweep_at_, 2 * waiting_.size());
  }
  auto waiting = std::make_shared<Waiting>(Waiting{.tokens = std::move(tokens), .begun = nullptr});
  waiting_.push_back(waiting);
  return std::make_unique<Hold>(std::move(waiting));
}

void EarlyHolds::start(const Make& make) {
  for (const std::weak_ptr<Waiting>& kept : std::exchange(waiting_, {})) {
    if (const std::shared_ptr<Waiting> waiting = kept.lock())
      waiting->begun = make(std::move(waiting->tokens));
  }
}

}  // namespace windrow::engine
