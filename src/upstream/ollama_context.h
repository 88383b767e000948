// How Ollama treats a prompt that its context has no room for, and how one tells. Pure.
//
// It answers 200 and says nothing. What it does depends on its version:
//   now     the first num_keep tokens stay (4; one more where the tokeniser puts a beginning token
//   in
//           front), then the end of the prompt, so that about half of the context is full:
//           context - (context - keep) / 2. usage.prompt_tokens is exactly that.
//   before  as much as the context holds; usage.prompt_tokens is the context.
//   embeddings are cut to the context.
// Messages of a chat that do not fit are left out before that, the oldest first; of this nothing
// shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"
#include "llm/request.h"

namespace windrow::upstream {

struct OllamaContext {
  int64_t tokens = 0;  // of one request; 0: unknown
  int64_t keep = 4;    // num_keep
};

// Of a model that is loaded, by the body of /api/ps; 0 where it is not in it. A name without a tag
// means "latest".
int64_t loaded_context(std::string_view ps_body, std::string_view model);

// What the body of /api/show adds: num_keep, and for a model that is not loaded its num_ctx, or
// what it was trained with as the most there can be. Nothing is known of a model that is no GGUF
// file: those are run by another runner, which cuts nothing.
OllamaContext context_of(std::string_view show_body, int64_t loaded_tokens);

// So many tokens the prompt of a raw request has for sure, whatever the model's vocabulary; of the
// longest one where it has several. 0: nothing is sure.
//
// A token has one byte at least and no bound above, but over a long text the mean of no vocabulary
// comes near 12 bytes: it is 3 to 6 for those in use, 8 for those whose tokens span words. What
// makes it more are runs (spaces, rulers), so a byte counts only when none of the four before it is
// the same. Texts alone count, images not.
int64_t prompt_tokens_at_least(const llm::Request& request);

// Why a row is not even sent; nothing where it may fit.
std::optional<llm::Failure> too_long(const llm::Request& request, const OllamaContext& context,
                                     const std::string& server);

// Bytes a prompt has for each of its tokens, in the requests of one model so far: the same kind of
// text has about the same.
class BytesPerToken {
 public:
  void add(int64_t bytes, int64_t tokens);

  // 0 until enough was seen.
  double mean() const;

 private:
  int64_t answers_ = 0;
  int64_t bytes_ = 0;
  int64_t tokens_ = 0;
};

enum class PromptFate : uint8_t {
  kWhole,
  kCut,
  kContextWrong,  // it read more than the context holds: that is another one by now
};

// What became of a prompt of which `prompt_tokens` were read; `body_bytes` of its request, 0: those
// say nothing (it has images). Where only half of the context was read it may be chance: then the
// prompt has as many bytes for each token as others have, and a cut one at least twice as many.
PromptFate fate_of(const llm::Request& request, int64_t body_bytes, int64_t prompt_tokens,
                   const OllamaContext& context, const BytesPerToken& others);

// The failure of a row that was answered over a cut prompt; the answer goes with it.
llm::Failure cut_failure(llm::Answer answer, const std::string& model, const OllamaContext& context,
                         const std::string& server);

}  // namespace windrow::upstream
