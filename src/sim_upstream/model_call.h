// One call of a model at a simulated upstream: what is read from the request's body, how many
// tokens its prompts and answers have (known from the start; only how long they take is not), and
// its answer. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "sim_upstream/faults.h"
#include "sim_upstream/options.h"
#include "sim_upstream/reply.h"
#include "sim_upstream/stream_body.h"
#include "sim_upstream/token_request.h"

namespace windrow::sim_upstream {

struct Prompt {
  std::string text;  // of token ids: their bytes, kTokenBytes each, which the prefix cache counts
  int64_t tokens = 0;
  std::vector<int32_t> ids;  // empty: it was given as text
};

Prompt text_prompt(std::string text);
Prompt id_prompt(std::vector<int32_t> ids);

struct ModelCall {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;
  std::vector<Prompt> prompts;  // one of a chat, otherwise one for each input
  std::string question;  // a chat's last message, or the last prompt; of token ids, the last ones
  std::optional<int64_t> answer_tokens_max;
  int32_t choices = 1;  // of each prompt

  bool wants_json = false;
  boost::json::value schema;  // of that JSON; null: any

  bool stream = false;        // of a chat or completion
  bool stream_usage = false;  // the stream ends with the usage

  bool base64 = false;  // the format of embeddings
  std::optional<int64_t> dimensions;

  TokenWishes wishes;

  int64_t prompt_tokens() const;
};

// Reads a request's body. Texts count kTokenBytes bytes to a token; prompts given as token ids
// count those. kInvalid: a server would answer 400.
Result<ModelCall> read_call(Endpoint endpoint, std::string_view body);

// A call on its way through the server.
struct ActiveCall {
  ModelCall request;
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;           // of prompt_tokens
  std::vector<int64_t> answer_tokens;  // of each choice
  std::vector<bool> cut;               // of each choice: it ends by the limit of tokens
  std::optional<Strike> strike;
  bool swapped = false;  // its answer is another call's, and the other way round
  bool in_slot = false;

  // Once its first tokens are made.
  std::optional<StreamRun> stream;
  bool head_sent = false;  // of the stream

  // Tokens in memory: prompts and answers.
  int64_t tokens() const;

  // Its choices are rows of one batch, so the longest one counts.
  int64_t longest_answer() const;

  // How long the next tokens of its stream take.
  Duration next_step(const SimOptions& options) const;

  bool is_struck_by(FaultKind kind) const { return strike && strike->kind == kind; }

  // It was asked for JSON and gives it in another shape.
  bool breaks_schema() const;
};

// kInvalid: the context is too short, and the server does not simply cut the prompt.
Result<ActiveCall> begin_call(const SimOptions& options, ModelCall request);

// `facts` with the model and the usage of the call.
ReplyFacts with_usage(ReplyFacts facts, const ActiveCall& call);

// Its answer where it wants text alone. `facts` without the model and the usage.
std::string reply_body(const SimOptions& options, const ActiveCall& call, ReplyFacts facts);
std::unique_ptr<EventSource> stream_body(const SimOptions& options, const ActiveCall& call,
                                         ReplyFacts facts);

}  // namespace windrow::sim_upstream
