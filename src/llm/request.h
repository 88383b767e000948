// Request: one question to a model, in our own types. The JSON of an OpenAI body becomes one of
// these at the edge (llm/request_json.h), and nothing below the edge sees JSON again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace windrow::llm {

enum class Endpoint : uint8_t {
  kChatCompletions,  // /v1/chat/completions
  kCompletions,      // /v1/completions
};

struct ChatMessage {
  std::string role;  // system, developer, user, assistant, tool
  std::string content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

// How the next token is chosen. The defaults are OpenAI's: sample from the whole distribution.
struct Sampling {
  float temperature = 1.0F;  // 0: greedy
  int32_t top_k = 0;         // 0: all tokens
  float top_p = 1.0F;        // 1: all tokens
  float min_p = 0.0F;        // 0: all tokens

  // The same seed gives the same draws, whatever else runs beside the request.
  uint64_t seed = 0;
};

struct Request {
  Endpoint endpoint = Endpoint::kChatCompletions;
  std::string model;  // as the client wrote it; the answer repeats it

  std::vector<ChatMessage> messages;  // kChatCompletions
  std::string prompt;                 // kCompletions

  Sampling sampling;
  std::optional<int32_t> output_tokens_max;  // absent: the backend's default
  std::vector<std::string> stop;             // the answer ends before the first of these
  bool ignore_eos = false;                   // go on past the model's own end

  // The answer lists its tokens and their log-probabilities.
  bool want_tokens = false;
};

}  // namespace windrow::llm
