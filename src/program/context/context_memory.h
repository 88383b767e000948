// ContextMemory: the bytes that the contexts of one instance take outside Lua. Contexts share their
// links, so each link counts once, for as long as a context has it. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace windrow::program {

struct ContextMemory {
  size_t bytes = 0;
};

// The same link, which counts as `bytes` in `memory` until its last owner lets go of it. With a
// null `memory` it counts nowhere.
template <class Link>
std::shared_ptr<Link> counted(std::shared_ptr<Link> link, size_t bytes,
                              const std::shared_ptr<ContextMemory>& memory) {
  struct Counted {
    std::shared_ptr<Link> link;
    std::shared_ptr<ContextMemory> memory;
    size_t bytes;

    Counted(std::shared_ptr<Link> the_link, std::shared_ptr<ContextMemory> the_memory, size_t size)
        : link(std::move(the_link)), memory(std::move(the_memory)), bytes(size) {
      memory->bytes += bytes;
    }
    ~Counted() { memory->bytes -= bytes; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
  };
  if (memory == nullptr) return link;
  Link* const raw = link.get();
  return {std::make_shared<Counted>(std::move(link), memory, bytes), raw};
}

}  // namespace windrow::program
