// Answer: what a model said to one Request. Failure: why there is no answer, in the words of the
// OpenAI API, with the class that decides what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace windrow::llm {

enum class FinishReason : uint8_t {
  kStop,    // the model ended, or a stop text was reached
  kLength,  // output_tokens_max or the context was reached
};

std::string_view to_string(FinishReason reason);

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // every token sampled, the end token and stop texts included
};

// Where the time of a request went, on the backend's clock.
struct Timings {
  int64_t queue_ms = 0;    // from submission to the first step it took part in
  int64_t prefill_ms = 0;  // from there to its first token
  int64_t decode_ms = 0;   // from there to its last
};

struct Answer {
  std::string text;  // well-formed UTF-8
  FinishReason finish_reason = FinishReason::kStop;
  Usage usage;
  Timings timings;

  // Filled when Request::want_tokens: what was sampled, and log p of each under the plain softmax
  // of the model's logits.
  std::vector<int32_t> tokens;
  std::vector<float> token_logprobs;
};

enum class FailureClass : uint8_t {
  kRequest,    // the request cannot be answered as it is: trying again changes nothing
  kTransient,  // it failed this time: trying again may help
  kCancelled,  // nobody wants the answer any more; not a result
  kBackend,    // the backend can answer nothing any more; not a result
};

struct Failure {
  FailureClass failure_class = FailureClass::kRequest;
  int32_t status = 400;  // as HTTP would say it
  std::string code;      // short and stable: "context_length_exceeded"
  std::string message;   // what, where, what to do
  std::string param;     // the body field at fault, or empty

  friend bool operator==(const Failure&, const Failure&) = default;
};

using Outcome = std::variant<Answer, Failure>;

}  // namespace windrow::llm
