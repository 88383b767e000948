// ContextTable: the contexts of one instance by id, their number, and their holds on the engine's
// prefix cache. Whatever way an instance ends, clear() or the destructor lets go of all of them.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "llm/answer.h"
#include "llm/prefix_hold.h"
#include "program/context/context.h"
#include "program/context/seeds.h"

namespace windrow::program {

using ContextId = Id<struct ContextTag, uint32_t>;  // counted from 1

// A context and what its owner has to know of it.
struct HeldContext {
  Context context;
  SeedPath seeds;         // of its answers
  ContextId parent = {};  // that it was forked from; 0: none
  bool is_busy = false;   // a call waits for its answer

  // Null: nothing is held. Forks share their parent's until they have one of their own, so the
  // prefix stays when the parent is released first.
  std::shared_ptr<llm::PrefixHold> hold = {};
  uint64_t held_changes = 0;  // Context::changes() when it was made
};

// Used by one thread.
class ContextTable {
 public:
  // Holds a prefix at the model's backend; may return null, and may be empty.
  using Hold = std::function<std::unique_ptr<llm::PrefixHold>(const ContextModel& model,
                                                              std::vector<int32_t> tokens)>;

  ContextTable(size_t contexts_max, Hold hold);

  // 400 kContextLimit (limits.h) when there are as many as may be: the message names the limit.
  std::variant<ContextId, llm::Failure> add(Context context, uint64_t seed, ContextId parent = {});

  // `count` forks, their seeds parts of `seed`. The parent's prefix is held, so that it is computed
  // once; not again if it did not change since. `parent` is there. All or none; 400 kContextLimit.
  std::variant<std::vector<ContextId>, llm::Failure> fork(ContextId parent, size_t count,
                                                          uint64_t seed);

  // Null once it was released, and for an id that never was.
  HeldContext* find(ContextId id);

  // Its tokens changed: what is held of it is renewed. Does nothing for an id that is not there.
  void renew_hold(ContextId id);

  // Nothing happens to an id that is not there.
  void release(ContextId id);
  void clear();

  size_t size() const { return contexts_.size(); }
  size_t peak() const { return peak_; }

 private:
  std::optional<llm::Failure> no_room(size_t count) const;
  std::pair<ContextId, HeldContext*> put(Context context, uint64_t seed, ContextId parent);
  void renew(HeldContext& held);

  const size_t contexts_max_;
  const Hold hold_;
  boost::unordered_flat_map<ContextId, std::unique_ptr<HeldContext>, std::hash<ContextId>>
      contexts_;
  uint32_t given_ = 0;
  size_t peak_ = 0;
};

}  // namespace windrow::program
