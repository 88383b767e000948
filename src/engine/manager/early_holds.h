// EarlyHolds: holds of prefixes (llm::PrefixHold) that were asked for before the engine that keeps
// them was open.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "engine/host/types.h"
#include "llm/prefix_hold.h"

namespace windrow::engine {

// Used with its owner's lock. Its holds may outlive it, and are released on any thread.
class EarlyHolds {
 public:
  using Make = std::function<std::unique_ptr<llm::PrefixHold>(std::vector<Token>)>;

  // A hold that begins with start(). Null for no tokens.
  std::unique_ptr<llm::PrefixHold> hold(std::vector<Token> tokens);

  // Holds that have not been released begin, in their order.
  void start(const Make& make);

  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::vector<Token> tokens;
    std::unique_ptr<llm::PrefixHold> begun;
  };
  class Hold;

  std::vector<std::weak_ptr<Waiting>> waiting_;
  size_t sweep_at_ = 64;  // released ones are dropped when there are so many
};

}  // namespace windrow::engine
