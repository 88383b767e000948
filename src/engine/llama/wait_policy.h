// How libllama's threads wait for each other. They meet at a barrier after every operation of a
// pass, some hundreds of times, and the OpenMP runtime lets who comes first spin there for
// milliseconds. On cores that others want too, a thread then spins while the one it waits for has
// no core: passes were 4 to 16 times as long beside two busy threads on two cores (bench/threads).
// Spinning briefly and then sleeping costs little when nothing else runs.
//
// The runtime (libgomp) reads that from the environment when it is loaded, which is before main. So
// a program that wants it otherwise sets it and starts itself again.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace windrow::engine {

struct WaitSetting {
  std::string name;
  std::string value;

  friend bool operator==(const WaitSetting&, const WaitSetting&) = default;
};

// What the environment lacks; nothing where it says already how threads wait. `variable` is one of
// the environment, null when it is not set.
std::optional<WaitSetting> missing_wait_setting(
    const std::function<const char*(const char*)>& variable);

// Called first of all in main, while there is one thread and nothing is open. Does not return where
// it starts the program again, in this process; returns where there is nothing to set, or where
// that cannot be done, which costs speed beside others and nothing else.
void restart_with_wait_setting(char* const* arguments);

}  // namespace windrow::engine
