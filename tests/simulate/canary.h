// Canaries: defects that are planted to see whether the simulation finds them. Each breaks a
// promise of something that is simulated (the disk, the servers, the client of servers), never code
// of Windrow's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace windrow::simulate {

enum class Canary : uint8_t {
  kNone,
  kUnsynced,
  kTorn,
  kForgotten,
  kSwapped,
  kLockOrder,
  kLostWake,
  kNeverDone,
};

struct CanaryName {
  Canary canary;
  std::string_view name;
  std::string_view what;
};

constexpr std::array<CanaryName, 7> kCanaries = {{
    {Canary::kUnsynced, "unsynced", "the disk says it has synced, and has not"},
    {Canary::kTorn, "torn", "an append says that all is there, when half is"},
    {Canary::kForgotten, "forgotten", "an answer is taken for a broken connection"},
    {Canary::kSwapped, "swapped", "two requests get each other's answer"},
    {Canary::kLockOrder, "lock-order", "two mutexes are taken in two orders"},
    {Canary::kLostWake, "lost-wake", "a thread looks too early at what it waits for"},
    {Canary::kNeverDone, "never-done", "a call that is cancelled does not end"},
}};

constexpr std::optional<Canary> canary_of(std::string_view name) {
  for (const CanaryName& known : kCanaries) {
    if (known.name == name) return known.canary;
  }
  return std::nullopt;
}

constexpr std::string_view to_string(Canary canary) {
  for (const CanaryName& known : kCanaries) {
    if (known.canary == canary) return known.name;
  }
  return "none";
}

}  // namespace windrow::simulate
