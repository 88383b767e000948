// How Ollama treats a prompt that is longer than its context, and how that shows. Pure.
//
// It answers 200 without a word. What it does depends on its version:
//   now     The first num_keep tokens stay (4; one more where the tokeniser adds a beginning
//           token), then the end of the prompt, so that about half of the context is full:
//           context - (context - keep) / 2. usage.prompt_tokens is exactly that.
//   before  It keeps as much as the context holds; usage.prompt_tokens is the context.
// Inputs to embed are cut to the context. Messages of a chat that do not fit are left out first,
// the oldest before the others; that shows nowhere.
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

// The context of a loaded model, from the body of /api/ps; 0: it is not loaded. A name without a
// tag means "latest".
int64_t loaded_context(std::string_view ps_body, std::string_view model);

// Adds what the body of /api/show says: num_keep, and for a model that is not loaded its num_ctx,
// or the context it was trained with as the largest possible one. A model that is no GGUF file has
// no known context: another runner serves it, which cuts nothing.
OllamaContext context_of(std::string_view show_body, int64_t loaded_tokens);

// The least number of tokens that the prompt of a raw request has in any vocabulary; of the longest
// prompt where it has several. 0: nothing is certain.
//
// A token has one byte at least and no bound above, but over a long text the mean of no vocabulary
// comes near 12 bytes: it is 3 to 6 for vocabularies in use, 8 where tokens span words. What
// makes it more are runs (spaces, rulers), so a byte counts only when none of the four before it is
// the same. Texts alone count, images not.
int64_t prompt_tokens_at_least(const llm::Request& request);

// Why a row is not sent at all; absent where it may fit.
std::optional<llm::Failure> too_long(const llm::Request& request, const OllamaContext& context,
                                     const std::string& server);

// The mean number of bytes per prompt token in the requests of one model: rows of one job have the
// same kind of text.
class BytesPerToken {
 public:
  void add(int64_t bytes, int64_t tokens);

  // 0 until there are enough requests.
  double mean() const;

 private:
  int64_t answers_ = 0;
  int64_t bytes_ = 0;
  int64_t tokens_ = 0;
};

enum class PromptFate : uint8_t {
  kWhole,
  kCut,
  kContextWrong,  // more tokens were read than the context holds: it has changed
};

// Whether a prompt of which `prompt_tokens` were read was cut. `body_bytes`: of its request; 0:
// they say nothing, as it has images. Where exactly half of the context was read, that may be
// chance: then the prompt has as many bytes per token as others, and a cut one at least twice as
// many.
PromptFate fate_of(const llm::Request& request, int64_t body_bytes, int64_t prompt_tokens,
                   const OllamaContext& context, const BytesPerToken& others);

// The failure of a row that was answered over a cut prompt; it carries the answer.
llm::Failure cut_failure(llm::Answer answer, const std::string& model, const OllamaContext& context,
                         const std::string& server);

}  // namespace windrow::upstream
