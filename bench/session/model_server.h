// ModelServer: a simulated model server (sim_upstream) in a process of its own.
#pragma once

#include <cstdint>

#include "session/agents.h"
#include "session/child_process.h"

namespace windrow::session_bench {

struct ModelShape {
  int64_t answer_tokens = 400;  // of every answer
  int64_t row_bytes = 1024;     // of a token: layers x top-k x 4; a multiple of 32, 0: no rows
  int64_t experts = 256;
  int64_t model_ms = 0;  // that an answer takes

  // Of the tokenizer: the tokens that answers have, and the one that ends them.
  int32_t first_id = 300;
  int32_t last_id = 1999;
  int32_t end_id = 2;

  static constexpr int64_t kTopk = 8;
  int64_t layers() const { return row_bytes / (kTopk * 4); }
  double row_mb() const { return static_cast<double>(row_bytes) * 1e-6; }
};

class ModelServer {
 public:
  // Made before this process has any thread. `niceness`: as of Agents.
  explicit ModelServer(int niceness = Agents::kLoadNiceness);

  // Listens from then on. Once.
  uint16_t start(const ModelShape& shape);

 private:
  ChildProcess process_;
};

}  // namespace windrow::session_bench
