// Request: one question to a model, in our own types. The JSON of an OpenAI body becomes one of
// these at the edge (llm/request_json.h). Below the edge JSON remains only where a chat template
// wants it as it was written: the messages, the tools and the template's own arguments.
//
// It says what is asked and nothing else. What belongs to one attempt to answer it (priority,
// listener, cancellation) is in BackendCall, llm/backend.h: so a request is parsed once and then
// shared, unchanged, by every attempt.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/structure.h"
#include "llm/tool_call.h"
#include "llm/verbatim.h"

namespace windrow::llm {

enum class Endpoint : uint8_t {
  kChatCompletions,  // /v1/chat/completions
  kCompletions,      // /v1/completions
  kEmbeddings,       // /v1/embeddings
  kRerank,           // /v1/rerank
};

// The form of an answer.
enum class Structure : uint8_t {
  kText,
  kJson,        // any JSON value
  kJsonObject,  // one that is an object
};

// A text, or the tokens it would become; `tokens` that are not empty win.
struct Input {
  std::string text;
  std::vector<int32_t> tokens;

  friend bool operator==(const Input&, const Input&) = default;
};

// What a chat template is given. Checked at the edge: `messages` is not empty, each is an object
// with a `role`, and its `content` is a string, text parts joined.
struct Chat {
  boost::json::array messages;
  boost::json::array tools;  // empty where tool_choice says that none is called
  ToolChoice tool_choice;
  boost::json::object template_arguments;  // chat_template_kwargs

  // Arguments that have an effect only if the template knows them; an unknown one in
  // `template_arguments` is refused. That map goes first where both have a name. A reasoning_effort
  // is also a wish for enable_thinking: off with "none", else on.
  boost::json::object wishes;
};

struct LogitBias {
  int32_t token = 0;  // may lie outside the vocabulary; then it is ignored
  float bias = 0;     // added to the logit

  friend bool operator==(const LogitBias&, const LogitBias&) = default;
};

// How the next token is chosen. The defaults are OpenAI's: sample from the whole distribution.
struct Sampling {
  float temperature = 1.0F;  // 0: greedy
  int32_t top_k = 0;         // 0: all tokens
  float top_p = 1.0F;        // 1: all tokens
  float min_p = 0.0F;        // 0: all tokens
  float typical_p = 1.0F;    // 1: all tokens

  // Of tokens already there: subtracted once, subtracted for each time (both of the answer's
  // tokens, as OpenAI says), and divided by, or multiplied with below zero (of prompt and answer,
  // CTRL, Keskar et al., 2019).
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  float repetition_penalty = 1.0F;

  std::vector<LogitBias> logit_bias;

  // The same seed gives the same draws, whatever else runs beside the request.
  uint64_t seed = 0;
};

struct Request {
  Endpoint endpoint = Endpoint::kChatCompletions;
  std::string model;  // as the client wrote it; the answer repeats it

  Chat chat;  // kChatCompletions

  // kChatCompletions: the prompt as tokens, exactly; the template then renders nothing, and the
  // messages may be empty. Empty: the prompt is rendered.
  std::vector<int32_t> chat_tokens;

  std::vector<Input> inputs;  // kCompletions: prompts; kEmbeddings: texts; kRerank: documents

  // For a server elsewhere: the body as JSON text, to be passed on (llm/raw_body.h, which says
  // what of the rest is set then). Empty: the members say all.
  std::string raw;
  bool repeats = false;  // of a raw body: asked twice, it is answered alike

  // Of a raw request: the reply is passed on as it is. `raw` may be empty then, and the model is
  // renamed in it only where `model` is set.
  std::optional<Verbatim> verbatim;

  // Of a raw request: few, sent beside those of the upstream's own settings, which win where both
  // have a name; but a Content-Type here is that of a verbatim body. Headers that frame a message
  // or belong to a connection (Host, Content-Length, ...) are not sent.
  std::vector<RequestHeader> headers;

  // Of a raw body: the form it asks for, by which of its fields, and the JSON Schema for that, as
  // JSON text; empty: any.
  Structure structure = Structure::kText;
  std::string_view structure_field;
  std::string structure_schema;

  // kChatCompletions and kCompletions.
  Sampling sampling;
  int32_t choices = 1;                       // answers to each prompt, each with draws of its own
  std::optional<int32_t> output_tokens_max;  // absent: the default; 0: only scored
  std::vector<std::string> stop;             // the answer ends before the first of these
  std::vector<int32_t> stop_tokens;          // the answer ends with the first of these
  bool ignore_eos = false;                   // go on past the model's own end
  bool echo = false;                         // kCompletions: the prompt is part of the choice

  // Of a body that is not raw: what each choice has to be; absent: any text. Beside tools that may
  // be called it is that, or calls.
  std::optional<StructureSpec> structured;

  // kChatCompletions, where the answer is held to a form or to calls: thoughts of a choice are
  // closed after so many tokens. Absent: the backend's default.
  std::optional<int32_t> reasoning_tokens_max;

  // Of its schemas, those of tools included; absent: the backend's default.
  std::optional<UnknownWords> schema_unknown;

  // Each choice lists its tokens with their log-probabilities, and so many of the most likely
  // tokens beside each; absent: no list. With `echo` the prompt's tokens are listed too.
  std::optional<int32_t> logprobs_top;

  // The prompt's tokens are listed too, apart (Choice::prompt_scores), with so many of the most
  // likely tokens beside each. Not for answers that are streamed.
  std::optional<int32_t> prompt_logprobs_top;

  // Where the prompt's tokens are listed, by `echo` or apart: the first one. What is before it is
  // not scored, so its KV cells may be shared with prompts that are not scored at all.
  int32_t score_from = 0;

  // The answer has the ids of its prompts' tokens, and of all tokens that were sampled.
  bool return_token_ids = false;

  // kEmbeddings.
  std::optional<int32_t> dimensions;  // the first so many numbers, scaled to length 1 again
  bool base64 = false;                // how the answer is written

  // kRerank.
  std::string query;
  std::optional<int32_t> results_max;  // the best so many documents; absent: all
  bool return_documents = false;
};

}  // namespace windrow::llm
