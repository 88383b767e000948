// Answer: the result of one Request. Failure: why there is none, in the OpenAI API's terms, with
// the class that decides what to do about it. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/tool_call.h"
#include "llm/verbatim.h"

namespace windrow::llm {

enum class FinishReason : uint8_t {
  kStop,       // the model ended the answer, or a stop text was reached
  kLength,     // output_tokens_max or the end of the context was reached
  kToolCalls,  // the model waits for the results of Choice::tool_calls
  kFiltered,   // an upstream withholds the rest of the text
};

std::string_view to_string(FinishReason reason);

// The check of an answer that had to have a structure (Request::structured) or to call a tool.
enum class StructureLabel : uint8_t {
  kValid,      // it is complete, and an independent check agrees
  kTruncated,  // it ended before it was complete: at a limit or a stop text
};

std::string_view to_string(StructureLabel label);

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // every token sampled, with the end token and stop texts
  int32_t cached_tokens = 0;      // prompt tokens that the prefix cache had
  int32_t reasoning_tokens = 0;   // completion tokens of Choice::reasoning

  friend bool operator==(const Usage&, const Usage&) = default;
};

// The parts of the time of a request, on the backend's clock.
struct Timings {
  int64_t queue_ms = 0;    // from submission to its first forward pass
  int64_t prefill_ms = 0;  // from there to its first token
  int64_t decode_ms = 0;   // from there to its last token
};

struct TokenLogprob {
  int32_t token = 0;
  std::string bytes;  // may be part of a character
  float logprob = 0;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

// One token of a choice: its log-probability under the softmax of the model's logits, before any of
// the request's sampling, and the most likely tokens at this position.
struct ScoredToken {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // Request::logprobs_top of them, the most likely first

  // How many tokens were at least as likely, itself included; 0: not counted.
  int32_t rank = 0;

  // The first token of a prompt has nothing before it and so no probability.
  bool has_logprob = true;

  friend bool operator==(const ScoredToken&, const ScoredToken&) = default;
};

// A choice as it is returned without streaming, if its last tool call was cut off: that call is
// text then. A streaming client has already had the beginning of the call by the time that is
// known.
struct WholeForm {
  std::string text;
  std::vector<ToolCall> tool_calls;
  FinishReason finish_reason = FinishReason::kStop;

  friend bool operator==(const WholeForm&, const WholeForm&) = default;
};

// One continuation of one prompt. Choices are in the order of the prompts, those of one prompt side
// by side.
struct Choice {
  std::string text;  // well-formed UTF-8; with Request::echo it begins with the prompt

  // kCompletions without echo: the length of the prompt in characters. The API counts the offsets
  // of tokens from the start of the prompt.
  int32_t text_begin = 0;

  // The reasoning before the answer; `text` is then only the answer.
  std::optional<std::string> reasoning;

  // In the order in which the model made them; `text` is then the text beside them, often empty.
  std::vector<ToolCall> tool_calls;

  // An upstream's text in place of an answer.
  std::optional<std::string> refusal;

  FinishReason finish_reason = FinishReason::kStop;

  // The limit was reached within a character; the text ends with U+FFFD in its place.
  bool cut_character = false;

  std::optional<WholeForm> when_whole;  // absent: the same

  // The stop text that ended the choice; absent: it ended otherwise.
  std::optional<std::string> stopped_by;

  // The one of Request::stop_tokens that ended the choice.
  std::optional<int32_t> stopped_by_token;

  // Set if the request asks for a structure or for tool calls.
  std::optional<StructureLabel> structure;

  // With Request::echo, the bytes of the prompt in `text`. Set where `structure` is.
  size_t prompt_bytes = 0;

  // With Request::logprobs_top: every token sampled, with those of a stop text and the end token;
  // with Request::echo the prompt's tokens before them.
  std::vector<ScoredToken> tokens;

  // With Request::prompt_logprobs_top: the prompt's tokens from Request::score_from on.
  std::vector<ScoredToken> prompt_scores;

  // With Request::return_token_ids: every token sampled, with those of a stop text and the end
  // token.
  std::vector<int32_t> token_ids;

  friend bool operator==(const Choice&, const Choice&) = default;
};

// One document of kRerank.
struct RankedDocument {
  int32_t index = 0;  // in Request::inputs
  float score = 0;    // as the model computes it: a logit unless is_probability
  bool is_probability = false;

  // Set with Request::return_documents.
  std::optional<std::string> text;

  friend bool operator==(const RankedDocument&, const RankedDocument&) = default;
};

// The score as a number from 0 to 1; monotonic in the score.
float relevance_of(const RankedDocument& document);

struct Answer {
  std::vector<Choice> choices;                 // kChatCompletions, kCompletions
  std::vector<std::vector<float>> embeddings;  // kEmbeddings: one per input, of length 1
  bool base64 = false;                         // kEmbeddings: Request::base64

  // With Request::return_token_ids: of each prompt. The choices of one prompt lie side by side.
  std::vector<std::vector<int32_t>> prompt_token_ids;

  std::vector<RankedDocument> ranking;  // kRerank: the highest score first

  // The body of an upstream's reply, one line of JSON that is passed on unchanged. Then nothing
  // above is set, and `usage` is what the upstream reports.
  std::string raw;

  // The reply to a request with Request::verbatim. Then nothing else is set but `timings`.
  std::optional<VerbatimReply> verbatim;

  // A choice ended before its structure or tool call was complete. Set for raw answers, too.
  bool truncated = false;

  // Parts of the request's schemas that have no effect: "at #/properties/a/unit: ...".
  std::vector<std::string> structure_warnings;

  Usage usage;
  Timings timings;
};

// The answer as it is returned without streaming (WholeForm); nothing if that is the same.
std::optional<Answer> as_whole(const Answer& answer);

// Their approximate size in memory.
size_t bytes_of(const ScoredToken& token);
size_t bytes_of(const Answer& answer);

enum class FailureClass : uint8_t {
  kRequest,    // the request cannot be answered; a retry changes nothing
  kTransient,  // it failed this time; a retry may help
  kCancelled,  // the answer is not wanted any more; not a result
  kBackend,    // the backend cannot answer any more; not a result
};

// A prompt that does not fit the context.
struct PromptExcess {
  int64_t tokens = 0;  // at least
  int64_t tokens_max = 0;

  friend bool operator==(const PromptExcess&, const PromptExcess&) = default;
};

struct Failure {
  FailureClass failure_class = FailureClass::kRequest;
  int32_t status = 400;  // of HTTP
  std::string code;      // short and stable: "context_length_exceeded"
  std::string message;   // what went wrong, where, and what to do
  std::string param;     // the body field at fault, or empty

  // kTransient: the backend is overloaded (429, 503); and its Retry-After, if it sent one.
  bool overloaded = false;
  std::optional<int64_t> retry_after_ms;

  // kTransient: the upstream could not be reached, so it did not get the request.
  bool unreached = false;

  // kTransient: this process has no file descriptor left for a connection, so nothing was sent, and
  // nothing is known about the upstream.
  bool short_of_files = false;

  // kTransient: the upstream replied, with a failure.
  bool replied = false;

  // kTransient: the upstream is healthy, and only this answer cannot be used.
  bool answered = false;

  // The body of an upstream's reply, one line of JSON; empty if it was not JSON.
  std::string raw;

  // The tokens of the failed attempt, if they are known.
  Usage usage = {};

  // With the code "context_length_exceeded", if it is known.
  std::optional<PromptExcess> prompt_excess = {};

  friend bool operator==(const Failure&, const Failure&) = default;
};

using Outcome = std::variant<Answer, Failure>;

}  // namespace windrow::llm
