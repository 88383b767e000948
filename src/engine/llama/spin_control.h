// SpinControl: how long libllama's threads spin while they wait for each other. They meet at a
// barrier after every operation of a pass, some hundreds of times, and the OpenMP runtime lets
// early threads spin there for milliseconds. Alone on the machine that is best: with a short spin
// passes took 1.2 to 1.3 times as long. On cores that other programs use too it is ruinous: a
// thread spins while the one it waits for has no core, and passes took 4 to 16 times as long beside
// two busy threads on two cores (bench/threads).
//
// So the spin is chosen while passes run, by how long their thread waited for a core, which the
// kernel counts. The runtime (libgomp) reads its settings once, when it is loaded, but it also
// spins briefly while it has more threads than there are cores: to cause that, sleeping threads are
// added to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace windrow::engine {

// Whether threads should spin briefly, by the share of the passes' time in which their thread
// waited for a core. Pure. Slow to change back: load that came once comes again.
class SpinRule {
 public:
  static constexpr double kBusyShare = 0.05;
  static constexpr double kQuietShare = 0.01;
  static constexpr int kQuietWindows = 25;

  // The share in the next window of time. Returns whether to spin briefly from now on.
  bool waited(double share);

 private:
  bool briefly_ = false;
  int quiet_ = 0;
};

// The second number of "5120 307 9" (time on a core, time waited for one, turns); nullopt: another
// format.
std::optional<Duration> waited_for_core(std::string_view schedstat);

// Whether the environment sets how threads wait; then SpinControl does nothing. `variable` gives
// the value of an environment variable, null when it is not set.
bool says_how_to_wait(const std::function<const char*(const char*)>& variable);

// Thread-safe. Does nothing with another runtime, or where the kernel does not count.
class SpinControl {
 public:
  SpinControl();
  ~SpinControl();
  SpinControl(const SpinControl&) = delete;
  SpinControl& operator=(const SpinControl&) = delete;

  // Runs a pass and returns its result. The measurement affects later passes.
  template <class Pass>
  auto timed(const Pass& pass) {
    const TimePoint start = clock_.now();
    const auto result = pass();
    pass_ran(clock_.now() - start);
    return result;
  }

  // For tests: whether threads spin briefly at the moment.
  bool briefly() const;
  void set_briefly(bool briefly);

 private:
  class Sleepers;  // the added threads

  void pass_ran(Duration duration);
  std::optional<Duration> waited_here() const;
  void change(bool briefly);

  const SystemClock clock_;  // the kernel counts real time
  const bool active_;
  mutable std::mutex mutex_;
  SpinRule rule_;
  int64_t thread_ = 0;              // the thread of the window
  Duration passes_{};               // in the window
  std::optional<Duration> waited_;  // when the window began
  std::unique_ptr<Sleepers> sleepers_;
};

}  // namespace windrow::engine
