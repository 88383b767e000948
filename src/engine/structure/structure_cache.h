// StructureCache: the structures of one model, each compiled once, off the engine's thread. Who
// asks is called back, and waits for its own structure only.
//
// What was compiled stays, the least recently asked for goes first when all together have grown
// beyond the limit. So does the reason why something cannot be compiled: thousands of rows may have
// the same schema, and the same fault.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/executor.h"
#include "base/clock.h"
#include "base/result.h"
#include "engine/structure/structure.h"
#include "llm/structure.h"

namespace windrow::engine {

struct StructureLimits {
  int32_t threads = 2;  // one that takes long does not hold all others
  Duration deadline = std::chrono::seconds(10);
  size_t bytes_max = size_t{512} << 20;
  size_t entries_max = 1000;
};

// Thread-safe.
class StructureCache {
 public:
  using Made = Result<std::shared_ptr<const Structure>>;

  // Called on a thread of the cache, with what to ask now and then whether to give up.
  using Make = std::function<Made(const llm::StructureSpec&, const grammar::GiveUp&)>;

  // Called once, from within get or on a thread of the cache, which waits for it.
  using Then = std::function<void(const Made&)>;

  // `clock` must outlive the cache.
  StructureCache(Make make, const Clock& clock, const StructureLimits& limits = {});

  // Whoever still waits hears kUnavailable.
  ~StructureCache();
  StructureCache(const StructureCache&) = delete;
  StructureCache& operator=(const StructureCache&) = delete;

  void get(const llm::StructureSpec& spec, Then then);

  // What the structures take that are there.
  size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::optional<Made> made;  // none: it is being compiled
    std::vector<Then> waiting;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;  // the one asked for last in front

  void compile(const llm::StructureSpec& spec, Entries::iterator entry);
  Made make_in_time(const llm::StructureSpec& spec);
  void drop_oldest();

  const Make make_;
  const Clock& clock_;
  const StructureLimits limits_;
  std::atomic<bool> closing_ = false;

  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_key_;

  async::Executor threads_;  // last: they use all of the above
};

}  // namespace windrow::engine
