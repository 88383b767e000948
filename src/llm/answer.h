// Answer: what a model said to one Request. Failure: why there is no answer, in the words of the
// OpenAI API, with the class that decides what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/tool_call.h"

namespace windrow::llm {

enum class FinishReason : uint8_t {
  kStop,       // the model ended, or a stop text was reached
  kLength,     // output_tokens_max or the context was reached
  kToolCalls,  // the model waits for what its calls bring: Choice::tool_calls
  kFiltered,   // a server elsewhere keeps the rest to itself
};

std::string_view to_string(FinishReason reason);

// Of an answer that had to have a structure (Request::structured), or to call a tool.
enum class StructureLabel : uint8_t {
  kValid,      // it is whole, and a check that knows nothing of how it was made agrees
  kTruncated,  // it ended before it was whole: at a limit, or at a stop text
};

std::string_view to_string(StructureLabel label);

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // every token sampled, the end token and stop texts included
  int32_t cached_tokens = 0;      // of the prompt's, those that were computed before for others
  int32_t reasoning_tokens = 0;   // of the completion's, those with text of Choice::reasoning

  friend bool operator==(const Usage&, const Usage&) = default;
};

// Where the time of a request went, on the backend's clock.
struct Timings {
  int64_t queue_ms = 0;    // from submission to the first step it took part in
  int64_t prefill_ms = 0;  // from there to its first token
  int64_t decode_ms = 0;   // from there to its last
};

struct TokenLogprob {
  int32_t token = 0;
  std::string bytes;  // may be part of a character
  float logprob = 0;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

// One token of a choice: log p under the plain softmax of the model's logits, before any of the
// request's sampling, and the most likely tokens in its place.
struct ScoredToken {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the most likely first; Request::logprobs_top of them

  // The first token of a prompt has nothing before it and so no probability.
  bool has_logprob = true;

  friend bool operator==(const ScoredToken&, const ScoredToken&) = default;
};

// What a choice says and calls, for those who get it as a whole, where a call of it broke off: that
// one is text, as it was written. Who is told the choice while it is made has had its beginning by
// the time that is known.
struct WholeForm {
  std::string text;
  std::vector<ToolCall> tool_calls;
  FinishReason finish_reason = FinishReason::kStop;

  friend bool operator==(const WholeForm&, const WholeForm&) = default;
};

// One continuation of one prompt. They are in the order of the prompts, those of one prompt side
// by side.
struct Choice {
  std::string text;  // well-formed UTF-8; with Request::echo it begins with the prompt

  // kCompletions without echo: how many characters the prompt has. The API counts where tokens
  // begin from the start of the prompt.
  int32_t text_begin = 0;

  // What a reasoning model thought before it answered; `text` is then only the answer.
  std::optional<std::string> reasoning;

  // In the order in which the model made them; `text` is then what it said beside them, often
  // nothing.
  std::vector<ToolCall> tool_calls;

  // Of a server elsewhere: what it says in place of an answer.
  std::optional<std::string> refusal;

  FinishReason finish_reason = FinishReason::kStop;

  // It reached a limit in the middle of a character, for which U+FFFD stands at the end.
  bool cut_character = false;

  std::optional<WholeForm> when_whole;  // nothing: the same

  // The stop text of the request that ended it; nothing: it ended otherwise.
  std::optional<std::string> stopped_by;

  // Of a request that asks for a structure or for calls.
  std::optional<StructureLabel> structure;

  // With Request::echo: so many bytes of `text` are the prompt's. Set where `structure` is.
  size_t prompt_bytes = 0;

  // Filled when Request::logprobs_top is given: every token sampled, those of a stop text and the
  // one that ended the answer included; with Request::echo the prompt's before them.
  std::vector<ScoredToken> tokens;

  friend bool operator==(const Choice&, const Choice&) = default;
};

// One document of kRerank.
struct RankedDocument {
  int32_t index = 0;  // in Request::inputs
  float score = 0;    // as the model has it: a logit, where it is no probability
  bool is_probability = false;

  // Given when Request::return_documents.
  std::optional<std::string> text;

  friend bool operator==(const RankedDocument&, const RankedDocument&) = default;
};

// From 0 to 1, in the order of the scores.
float relevance_of(const RankedDocument& document);

struct Answer {
  std::vector<Choice> choices;                 // kChatCompletions, kCompletions
  std::vector<std::vector<float>> embeddings;  // kEmbeddings: one per input, of length 1
  bool base64 = false;                         // kEmbeddings: as Request::base64
  std::vector<RankedDocument> ranking;         // kRerank: the highest score first

  // Of a server elsewhere: the body of its reply, one line of JSON that is passed on as it is. Then
  // none of the above is set, and of `usage` what the server told.
  std::string raw;

  // A structure or a call was asked for, and a choice ended before that was whole. Set for raw
  // answers, too.
  bool truncated = false;

  // What of the schemas that were asked for has no effect: "at #/properties/a/unit: ...".
  std::vector<std::string> structure_warnings;

  Usage usage;
  Timings timings;
};

// The answer for those who get it as a whole; nothing: it is the same.
std::optional<Answer> as_whole(const Answer& answer);

// About what they hold in memory, for what is bounded in bytes.
size_t bytes_of(const ScoredToken& token);
size_t bytes_of(const Answer& answer);

enum class FailureClass : uint8_t {
  kRequest,    // the request cannot be answered as it is: trying again changes nothing
  kTransient,  // it failed this time: trying again may help
  kCancelled,  // nobody wants the answer any more; not a result
  kBackend,    // the backend can answer nothing any more; not a result
};

// A prompt that does not fit: so many tokens at least, where so many may be.
struct PromptExcess {
  int64_t tokens = 0;
  int64_t tokens_max = 0;

  friend bool operator==(const PromptExcess&, const PromptExcess&) = default;
};

struct Failure {
  FailureClass failure_class = FailureClass::kRequest;
  int32_t status = 400;  // as HTTP would say it
  std::string code;      // short and stable: "context_length_exceeded"
  std::string message;   // what, where, what to do
  std::string param;     // the body field at fault, or empty

  // kTransient: whoever answers has too much to do, not a fault; and for how long it wants to be
  // left alone, when it said so.
  bool overloaded = false;
  std::optional<int64_t> retry_after_ms;

  // kTransient: whoever answers could not be reached, so it did not see the request.
  bool unreached = false;

  // kTransient: this process had no file left for a connection, so nothing was sent, and nothing is
  // known of whoever answers.
  bool short_of_files = false;

  // kTransient: it was answered with a failure, so somebody is there.
  bool replied = false;

  // kTransient: whoever answers is well, and only what it said cannot be used.
  bool answered = false;

  // Of a server elsewhere: the body of its reply, one line of JSON; empty where that was none.
  std::string raw;

  // What it cost to fail, where that was told.
  Usage usage = {};

  // Of the code "context_length_exceeded", where it is known.
  std::optional<PromptExcess> prompt_excess = {};

  friend bool operator==(const Failure&, const Failure&) = default;
};

using Outcome = std::variant<Answer, Failure>;

}  // namespace windrow::llm
