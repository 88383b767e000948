// ModelCall: what of a request's body a simulated upstream goes by. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace windrow::sim_upstream {

enum class Endpoint : uint8_t { kChat, kCompletions, kEmbeddings };

struct Prompt {
  std::string text;
  int64_t tokens = 0;
};

struct ModelCall {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;
  std::vector<Prompt> prompts;  // a chat has one; the others one for each input
  std::string question;         // the last message of a chat, the last of the prompts
  std::optional<int64_t> answer_tokens_max;
  int32_t choices = 1;  // of each prompt

  bool wants_json = false;
  boost::json::value schema;  // of that; null: any

  bool stream = false;        // of a chat or completion: the answer while it is made
  bool stream_usage = false;  // and at its end what it used

  bool base64 = false;  // form of embeddings
  std::optional<int64_t> dimensions;

  int64_t prompt_tokens() const;
};

// Texts count kTokenBytes bytes to a token; prompts given as token ids count those. kInvalid for
// what a server would answer with 400.
Result<ModelCall> read_call(Endpoint endpoint, std::string_view body);

}  // namespace windrow::sim_upstream
