// Turn: one thread waits until another one lets it go on. Made of a futex, because everything that
// is made of a mutex is simulated here.
#pragma once

#include <atomic>
#include <cstdint>

namespace windrow::simulate {

class Turn {
 public:
  // Blocks until give() was called once more than this returned.
  void wait();

  void give();

 private:
  std::atomic<uint32_t> given_ = 0;
};

}  // namespace windrow::simulate
