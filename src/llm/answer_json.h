// Answer -> the JSON of a response body, in the format of the OpenAI API and, for rerank, of
// Jina's. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::llm {

// The body, one line of JSON; a raw answer is returned unchanged. `id` has no prefix ("chatcmpl-",
// "cmpl-"...): the endpoint adds it.
std::string answer_to_json(Endpoint endpoint, std::string_view id, std::string_view model,
                           int64_t created_unix_s, const Answer& answer);

// Appends ,"NAME":[1,2,...] behind another member; nothing if there are no ids.
void append_token_ids(std::string_view name, std::span<const int32_t> ids, std::string& text);

// Appends ,"structure_warnings":[...] behind another member; nothing if there are none.
void append_structure_warnings(const std::vector<std::string>& warnings, std::string& text);

// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
// "completion_tokens_details"}
void append_usage(const Usage& usage, std::string& text);

// {"error": {"message", "type", "param", "code"}}
boost::json::object failure_to_json(const Failure& failure);

// --- the `logprobs` of a choice, or of a part of one in a stream ---

// [{"token", "logprob", "bytes", "top_logprobs"}...]
void append_token_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"content": those, "refusal": null}
void append_chat_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; an offset for each token.
void append_completion_logprobs(std::span<const ScoredToken> tokens,
                                std::span<const int32_t> offsets, std::string& text);

// vLLM's `prompt_logprobs`: for each token null, if it has no log-probability, or an object by
// token id of {"logprob", "rank", "decoded_token"}: the token itself and the most likely ones.
void append_prompt_logprobs(std::span<const ScoredToken> tokens, std::string& text);

// --- where each token of a choice begins in its text: the text_offset of completions ---

// The offset of each token in characters (code points), counted from Choice::text_begin, as
// OpenAI's `text_offset`. Tokens of one character have its offset; tokens without text (control
// tokens, a stop text) have the offset that the text has reached.
std::vector<int32_t> text_offsets(const Choice& choice);

// The same for a streamed choice, where no token comes before its text (stream_sink.h).
class TextOffsets {
 public:
  explicit TextOffsets(int32_t begin) : characters_(begin) {}

  void add_text(std::string_view text);

  // The offset of the next token, which has these bytes.
  int32_t next(std::string_view token);

 private:
  bool at_start_ = true;
  int32_t characters_;  // the number that begin before the next token
  std::string text_;    // no token has been found in the part from used_ on
  size_t used_ = 0;
};

}  // namespace windrow::llm
