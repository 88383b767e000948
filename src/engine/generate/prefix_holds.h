// PrefixHolds: the prefixes of one engine that are held (llm::PrefixHold). Holds are made and
// released on any thread; the device thread takes the changes between two steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/host/types.h"
#include "llm/prefix_hold.h"

namespace windrow::engine {

// A hold that began, or one that was released: then `tokens` is empty.
struct HoldChange {
  HoldId hold;
  std::vector<Token> tokens;
};

// Thread-safe. Its holds keep it alive, so they may outlive the engine.
class PrefixHolds : public std::enable_shared_from_this<PrefixHolds> {
 public:
  // To be made by std::make_shared. `wake` is called after each change, on the thread that made it,
  // until close() has returned.
  explicit PrefixHolds(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Null for no tokens.
  std::unique_ptr<llm::PrefixHold> hold(std::vector<Token> tokens);

  // The changes since the last call, in their order.
  std::vector<HoldChange> take();

  // The engine ends: changes have no effect any more.
  void close();

 private:
  class Hold;

  void add(HoldChange change);

  std::mutex mutex_;
  std::function<void()> wake_;  // empty: closed
  std::vector<HoldChange> changes_;
  uint64_t next_ = 0;
};

}  // namespace windrow::engine
