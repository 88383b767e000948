// Replies with token ids: those of SGLang (sglang_reply.cc) and of vLLM (vllm_reply.cc), whole and
// as streams. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim_upstream/long_body.h"
#include "sim_upstream/model_call.h"
#include "sim_upstream/options.h"
#include "sim_upstream/reply.h"
#include "sim_upstream/stream_body.h"
#include "sim_upstream/token_answer.h"

namespace windrow::sim_upstream {

// What a reply is made from.
struct TokenReply {
  ReplyFacts facts;
  std::string model;  // facts.model is of this text
  TokenWishes wishes;
  TokenOptions options;
  double latency_s = 0;
  bool tells_tokens = true;  // false: a fault
  bool stream_usage = false;
  std::vector<TokenAnswer> answers;  // of each choice
};

// `facts` without the model and the usage. `call` has TokenWishes::form.
TokenReply token_reply(const SimOptions& options, const RowBanks& banks, const ActiveCall& call,
                       ReplyFacts facts);

// The whole reply.
LongBody token_body(TokenReply reply);

// The reply to a stream of /generate or of a completion.
std::unique_ptr<EventSource> token_stream(TokenReply reply);

// Parts of token_body() and token_stream().
LongBody sglang_chat_body(TokenReply reply);
LongBody sglang_generate_body(TokenReply reply);
std::unique_ptr<EventSource> sglang_generate_stream(TokenReply reply);
LongBody vllm_completion_body(TokenReply reply);
std::unique_ptr<EventSource> vllm_completion_stream(TokenReply reply);

}  // namespace windrow::sim_upstream
