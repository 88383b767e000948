#include "sim_upstream/token_reply.h"

#include <chrono>
#include <utility>

namespace windrow::sim_upstream {

TokenReply token_reply(const SimOptions& options, const RowBanks& banks, const ActiveCall& call,
                       ReplyFacts facts) {
  const uint64_t number = facts.number;
  const Duration work = options.request_time +
                        (call.prompt_tokens - call.cached_tokens) * options.prompt_token_time +
                        call.longest_answer() * options.token_time;
  TokenReply reply{.facts = with_usage(facts, call),
                   .model = call.request.model,
                   .wishes = call.request.wishes,
                   .options = options.tokens,
                   .latency_s = std::chrono::duration<double>(work).count(),
                   .tells_tokens = !call.is_struck_by(FaultKind::kNoTokens),
                   .stream_usage = call.request.stream_usage};
  reply.answers.reserve(call.answer_tokens.size());
  for (size_t i = 0; i < call.answer_tokens.size(); ++i)
    reply.answers.push_back(token_answer(options, banks, call, i, number));
  return reply;
}

LongBody token_body(TokenReply reply) {
  switch (reply.wishes.form) {
    case TokenForm::kMetaInfo:
      return sglang_chat_body(std::move(reply));
    case TokenForm::kGenerate:
      return sglang_generate_body(std::move(reply));
    case TokenForm::kTokenIds:
      return vllm_completion_body(std::move(reply));
    case TokenForm::kNone:
      break;
  }
  return {};
}

std::unique_ptr<EventSource> token_stream(TokenReply reply) {
  return reply.wishes.form == TokenForm::kGenerate ? sglang_generate_stream(std::move(reply))
                                                   : vllm_completion_stream(std::move(reply));
}

}  // namespace windrow::sim_upstream
