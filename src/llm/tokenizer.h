// Tokenizer: a model's texts as tokens and back, and its chats as prompts, without its weights.
// Implemented by engine/generate/model_tokenizer.h.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "llm/answer.h"
#include "llm/request.h"
#include "llm/stream_sink.h"

namespace windrow::llm {

// A chat as a model sees it.
struct RenderedChat {
  std::string text;
  std::vector<int32_t> tokens;  // with what the model wants at the beginning of a context
};

// An answer that was sampled, to which messages are appended.
struct SampledAnswer {
  boost::json::object message;  // as it was read: role, content, tool_calls
  std::vector<int32_t> tokens;  // with the end token, if there was one; not empty
  bool has_system = false;      // a message of the system is before it
};

// The tokens that appended messages add behind an answer.
struct AppendedTokens {
  std::vector<int32_t> tokens;
  bool drops_last = false;  // the answer's last token, its end, does not belong before them
};

// Which tokens are added to those of a text.
enum class SpecialTokens : uint8_t {
  kNone,
  kBegin,  // the one that the model wants at the beginning of a context, unless it is there
  kAll,    // that one, and what the model's own tokenizer puts behind a text: SEP of an encoder,
           // EOS of the models that ask for it
};

// What a request says of how its answer is read.
struct ReadingOptions {
  // Texts, none empty, and tokens at which the answer ends, and which are no part of it. The server
  // that sampled it may have included them, and more behind them: that is not read.
  std::vector<std::string> stop;
  std::vector<int32_t> stop_tokens;

  bool structured = false;  // Request::structured: calls of tools come at the beginning only

  // Request::sampling.seed: the ids of calls follow from it and the prompt.
  uint64_t seed = 0;
};

// Reads an answer that was sampled elsewhere, token by token, as the model's engine reads its own:
// what is reasoning, content and calls of tools. An end token has no text, and neither has an id
// that is not of the vocabulary. Used by one thread at a time; must not outlive its tokenizer.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;

  // The answer goes on with `tokens`. Returns what is decided now; together, and with end(), the
  // deltas are the choice (llm/stream_sink.h). Without ids and log-probabilities.
  virtual std::vector<Delta> take(std::span<const int32_t> tokens) = 0;

  // The answer is over, and why. `last`: the delta of what is left, with the finish reason. An
  // answer that stopped by itself and calls tools ends with kToolCalls; one that reached a stop
  // text or its only call, with kStop or kToolCalls whatever the reason. To be called once.
  struct End {
    Delta last;
    Choice choice;                 // without ids and log-probabilities
    int32_t reasoning_tokens = 0;  // Usage::reasoning_tokens
  };
  virtual End end(FinishReason reason) = 0;
};

// Const and thread-safe. Nothing blocks; long texts take time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int32_t vocabulary_size() const = 0;

  // The longest context that the model was trained for.
  virtual int32_t context_tokens_max() const = 0;

  // `control`: control tokens that the text names are those tokens, else they are text.
  virtual std::vector<int32_t> encode(std::string_view text, bool control,
                                      SpecialTokens added) const = 0;

  // Appends the bytes of a token of the vocabulary; a control token has those of its name. A
  // character may span several tokens.
  virtual void append_piece(int32_t token, std::string& bytes) const = 0;

  // Whether it has a meaning and no text: the end of a message, for one.
  virtual bool is_control(int32_t token) const = 0;

  // The prompt of a chat, as the model's engine would make it; or what the model's template has
  // against it. `asks_for_answer`: up to where the model begins to answer.
  virtual std::variant<RenderedChat, Failure> render(const Chat& chat,
                                                     bool asks_for_answer) const = 0;

  // What `appended.messages` add behind `answer` (chat/increment.h), up to where the model begins
  // to answer. Its tools and template arguments are those of the whole conversation.
  virtual std::variant<AppendedTokens, Failure> append(const SampledAnswer& answer,
                                                       const Chat& appended) const = 0;

  // Reads the answer to `chat`, whose prompt was `prompt`.
  virtual std::unique_ptr<AnswerReader> read_answer(const Chat& chat,
                                                    std::span<const int32_t> prompt,
                                                    ReadingOptions options) const = 0;
};

// The text of tokens, each of the vocabulary; bytes that are no character become U+FFFD.
std::string text_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens);

// Loads a tokenizer when it is first asked for, and keeps it until it turns out to be a wrong one.
// Thread-safe.
class LazyTokenizer {
 public:
  using Load = std::function<Result<std::shared_ptr<const Tokenizer>>()>;

  explicit LazyTokenizer(Load load) : load_(std::move(load)) {}

  // Blocks while it is loaded: about as long as reading a vocabulary takes. Errors are those of
  // `load`, which the next call tries again; and kInvalid with refusal().
  Result<std::shared_ptr<const Tokenizer>> get();

  // It is not the tokenizer of its model, `why` in words for clients: get() returns it no more. A
  // caller that has it already keeps it.
  void refuse(std::string why);

  // The `why` of refuse().
  std::optional<std::string> refusal() const;

 private:
  const Load load_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokenizer> loaded_;  // null: not yet
  std::optional<std::string> refusal_;
};

}  // namespace windrow::llm
