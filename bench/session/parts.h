// The measurements. Each runs in a process of its own, prints what it finds beside its target, and
// returns whether all targets were kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "session/agents.h"
#include "session/model_server.h"
#include "session/models/session_models.h"

namespace windrow::session_bench {

struct Shape {
  std::string model;  // a GGUF file with a ChatML template, for its tokenizer
  session::ModelKind api = session::ModelKind::kSglangChat;
  bool asks_new_rows = false;

  // 0: the part's own.
  int32_t sessions = 0;
  int32_t turns = 0;
  int64_t turn_tokens = 0;
  int64_t row_bytes = -1;
  int64_t experts = 256;
  int32_t rounds = 3;
  int64_t model_ms = -1;
  bool full = false;  // as many sessions as the target says
  std::string plot;   // file
};

bool measure_retained(const Shape& shape);
bool measure_parse(const Shape& shape);
bool measure_ci(const Shape& shape);
bool measure_reads(const Shape& shape);
bool measure_small(const Shape& shape);

// `given` if it was given, else `own`.
template <class T>
T chosen(T given, T own) {
  return given > 0 ? given : own;
}

// An order for the agents to play so many turns in all sessions.
AgentsOrder play_order(uint16_t port, std::string_view model, int32_t first, int32_t count,
                       int32_t turns, double new_tokens, double tokens_per_word);

// Creates `count` sessions.
void create_sessions(Agents& agents, uint16_t port, int32_t count);

}  // namespace windrow::session_bench
