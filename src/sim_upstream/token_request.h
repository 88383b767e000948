// What a request wants of tokens: the forms in which servers take and give ids. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace windrow::sim_upstream {

struct ModelCall;

enum class TokenForm : uint8_t {
  kNone,      // the answer is text alone
  kMetaInfo,  // SGLang's chat with meta_info
  kGenerate,  // SGLang's /generate
  kTokenIds,  // vLLM's completion with token_ids
};

struct TokenWishes {
  TokenForm form = TokenForm::kNone;
  bool logprobs = false;
  bool prompt_ids = false;     // the reply repeats them (SGLang: return_prompt_token_ids)
  bool ids_as_tokens = false;  // vLLM: the texts of tokens are "token_id:ID"
  bool routed_experts = false;
  bool indexer_topk = false;
  int64_t rows_start = 0;  // the first token that has a row of experts in the reply
};

// Reads what a chat or a completion wants, once its prompts are read. kInvalid: a server would
// answer 400.
Result<void> read_token_wishes(const boost::json::object& body, ModelCall& call);

// Reads the body of SGLang's /generate: prompts and all.
Result<void> read_generate(const boost::json::object& body, ModelCall& call);

}  // namespace windrow::sim_upstream
