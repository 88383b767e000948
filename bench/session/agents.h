// Agents: the clients of the sessions that are measured, in a process of their own: each session
// is a conversation that grows by a message of new text and an answer with every turn, sent over
// HTTP as a harness would, the whole conversation each time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/child_process.h"

namespace windrow::session_bench {

// What kAsk asks for, over and over.
enum class Asked : int32_t {
  kHealth,   // GET /health, every few milliseconds
  kRecords,  // GET of session `first`
  kSamples,  // its samples
};

// Sent to their process as it is in memory.
struct AgentsOrder {
  enum class Kind : int32_t { kCreate, kPlay, kAsk };
  Kind kind = Kind::kPlay;
  uint16_t port = 0;
  int32_t first = 0;  // sessions [first, first + count), from 0 in the order of creation
  int32_t count = 1;
  int32_t turns = 1;     // that each of them takes
  int32_t at_once = 64;  // sessions that take turns at the same time
  int32_t words = 100;   // of each new message
  int64_t pause_us = 0;  // before each turn, half of it to one and a half
  Asked asked = Asked::kHealth;
  char model[16] = {};
};

// Of kAsk turn_ms are the times of its requests.
struct AgentsReport {
  std::vector<double> turn_ms;
  double bytes = 0;   // of the bodies that kRecords and kSamples got, together
  double tokens = 0;  // of all conversations that took a turn, together
};

class Agents {
 public:
  // Made before this process has any thread. `niceness`: of their process. The load that is
  // generated takes less than what is measured where there are few cores.
  explicit Agents(int niceness = kLoadNiceness);
  static constexpr int kLoadNiceness = 10;

  // Both throw if a request fails. Of kCreate and kPlay: blocks until all is done.
  AgentsReport run(const AgentsOrder& order);

  // kAsk: begins, and ends after the request that is being made.
  void begin(const AgentsOrder& order);
  AgentsReport end();

 private:
  ChildProcess process_;
};

}  // namespace windrow::session_bench
