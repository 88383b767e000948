// ToldPrompt: a prompt as the client wrote it, beside the token ids that the upstream says it has.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/request.h"

namespace windrow::llm {

struct ToldPrompt {
  // kWhole: the text is all of the prompt, beside special tokens. kPart: a template put it
  // somewhere. kLastPart: that, and no message is behind it.
  enum class Text : uint8_t { kWhole, kPart, kLastPart };

  Text place = Text::kWhole;
  std::string text;
  std::vector<int64_t> ids;
};

// Whether the answer to a raw request may tell the ids; reads no more than necessary.
bool may_tell_prompt(const Request& request);

// What the whole reply to a raw completion or chat tells in vLLM's shape (`prompt_token_ids`): of
// the first prompt of a completion, or of the user's last message. Nothing where it tells no ids,
// where the prompt was no text, where other fields of the request change it, and where one of the
// two is longer than a MiB, so that it takes a bounded time.
std::optional<ToldPrompt> told_prompt(const Request& request, std::string_view reply);

}  // namespace windrow::llm
