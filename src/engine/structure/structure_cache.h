// StructureCache: the structures of one model, each compiled once, off the engine's thread. A
// caller is called back, and waits for its own structure only.
//
// Compiled structures stay; beyond the limit the least recently used are evicted. Errors of
// compiling are cached too: thousands of rows may have the same schema, and the same fault.
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
  int32_t threads = 2;  // so that one slow structure does not hold up the others
  Duration deadline = std::chrono::seconds(10);
  size_t bytes_max = size_t{512} << 20;
  size_t entries_max = 1000;
};

// Thread-safe.
class StructureCache {
 public:
  using Made = Result<std::shared_ptr<const Structure>>;

  // Compiles one. Called on a thread of the cache; it calls GiveUp from time to time and stops when
  // that returns true.
  using Make = std::function<Made(const llm::StructureSpec&, const grammar::GiveUp&)>;

  // Called once, from within get() or on a thread of the cache; must not block.
  using Then = std::function<void(const Made&)>;

  // `clock` must outlive the cache.
  StructureCache(Make make, const Clock& clock, const StructureLimits& limits = {});

  // Calls that are still waiting get kUnavailable.
  ~StructureCache();
  StructureCache(const StructureCache&) = delete;
  StructureCache& operator=(const StructureCache&) = delete;

  // Gives the structure of `spec` to `then`, at once where it is cached. Errors are those of Make,
  // and kUnavailable when compiling takes longer than the deadline. Never blocks.
  void get(const llm::StructureSpec& spec, Then then);

  // The memory of the cached structures.
  size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::optional<Made> made;  // nullopt: it is being compiled
    std::vector<Then> waiting;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;  // most recently used first

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
