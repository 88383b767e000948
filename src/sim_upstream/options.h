// How a simulated upstream behaves. The defaults are a quick, well-behaved server without faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sim_upstream/faults.h"

namespace windrow::sim_upstream {

enum class Endpoint : uint8_t { kChat, kCompletions, kEmbeddings, kGenerate };

enum class AnswerKind : uint8_t {
  kText,  // words, as many as tokens
  kEcho,  // the last line of the prompt, so that an answer shows its request
  kJson,  // one object, by the request's schema where it has one
};

// The tokens of answers, for requests that want their ids, and what is told of them.
struct TokenOptions {
  int32_t first_id = 1000;  // ids of answers are from first_id to last_id
  int32_t last_id = 29999;
  int32_t end_id = 2;  // the last token of an answer that is not cut
  std::string weight_version = "default";
  bool incremental = false;  // an event of a stream of /generate has what is new, not everything

  // Rows of experts, one for each token but the last; 0 layers: none.
  int64_t routing_layers = 0;
  int64_t routing_topk = 8;
  int64_t routing_experts = 256;
  bool routing_drift = false;  // each computation of a prefix gives other rows
  bool routing_twice = false;  // SGLang's chats have them in sglext as well

  // Rows of the positions that an indexer chose; 0 layers: none.
  int64_t indexer_layers = 0;
  int64_t indexer_topk = 16;
};

struct SimOptions {
  uint64_t seed = 1;

  // Access.
  std::vector<std::string> models;  // empty: any name
  std::string key;                  // required as "Authorization: Bearer KEY"; empty: none
  bool ollama = false;              // has /api/ps, /api/show, /api/tags and cuts long prompts
  int64_t context_tokens = 8192;    // of one request, prompt and answer

  // How long work takes (slots.h).
  int32_t slots = 4;
  int32_t knee = 0;  // rows that together take no longer than one; 0: as many as slots
  int32_t queue_max = 512;
  Duration request_time{};  // of every request, before its first token
  Duration prompt_token_time = std::chrono::microseconds(100);
  Duration token_time = std::chrono::milliseconds(10);

  // The length of answers: uniform from mean * (1 - spread) to mean * (1 + spread).
  int64_t answer_tokens = 32;
  double answer_spread = 0.5;
  int64_t event_tokens = 1;  // of each choice in one step of a stream
  AnswerKind answer = AnswerKind::kText;
  int64_t embedding_size = 16;
  TokenOptions tokens;

  // Blocks of kBlockTokens tokens in the prefix cache; 0: none.
  int64_t prefix_blocks = 4096;

  // A quota, announced in x-ratelimit-* headers; 0: none.
  int64_t requests_per_minute = 0;
  int64_t tokens_per_minute = 0;

  std::vector<FaultRule> faults;
  LimitHeaders limit_headers = LimitHeaders::kRetryAfter;
};

}  // namespace windrow::sim_upstream
