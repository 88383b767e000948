// Context: the conversation of a program as its model sees it. Pure. Used by one thread; a copy is
// a fork, and shares all turns with it (they never change).
//
// With a tokenizer it is tokens: messages are rendered by the model's chat template, and behind an
// answer as the increment of that template (llm::Tokenizer::append), so that the model sees exactly
// what it sampled. Where a template cannot be rendered in parts, the whole conversation is rendered
// again. Without a tokenizer (a server elsewhere has the model) it is its messages.
//
// Its states, and what add() and append() may do:
//   empty         messages make it a chat; append() makes it raw text, without a template
//   chat, closed  its last message is whole; cue(), append() and generate open the next answer
//   chat, open    an answer has begun; a message closes it first
//   raw           only append() and generate
#pragma once

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "llm/answer.h"
#include "llm/request.h"
#include "llm/tokenizer.h"
#include "program/context/context_memory.h"
#include "program/context/turns.h"

namespace windrow::program {

// A model as contexts know it. Immutable.
struct ContextModel {
  std::string name;                                 // as requests name it
  std::shared_ptr<const llm::Tokenizer> tokenizer;  // null: a server elsewhere has the model
};

struct ContextOptions {
  // The template argument enable_thinking; absent: as the template does it by itself.
  std::optional<bool> thinking;

  // Thoughts stay when the next message of a user comes.
  bool keep_thoughts = false;

  // Counts what it and its forks take; null: that is not counted.
  std::shared_ptr<ContextMemory> memory = nullptr;
};

enum class Role : uint8_t { kSystem, kUser, kAssistant };

// What a model is asked.
struct Prompt {
  // A chat: its template arguments; its messages only without a tokenizer, since `tokens` say
  // exactly what the model reads, and how an answer is read does not depend on messages.
  llm::Chat chat;

  // With a tokenizer: the whole prompt, up to where the answer goes on.
  std::vector<int32_t> tokens;

  // Without one: the raw text of a context that has no messages.
  std::string text;

  // It has no template: a completion.
  bool is_raw = false;
};

// Failures of all functions are llm::Failure with status 400, and change nothing:
//   context_is_empty     there is nothing to answer yet
//   context_is_open      a message of the system cannot follow an answer that has begun
//   context_is_raw       it is raw text, and has no turns
//   not_for_upstream     needs tokens, and a server elsewhere has the model
//   invalid_token        an id outside the vocabulary
//   those of llm::Tokenizer::render and append
class Context {
 public:
  // `model` is not null.
  explicit Context(std::shared_ptr<const ContextModel> model, ContextOptions options = {});

  const ContextModel& model() const { return *model_; }
  const std::shared_ptr<const ContextModel>& shared_model() const { return model_; }
  const ContextOptions& options() const { return options_; }

  // A whole message, behind the open answer if one has begun: that ends there. A user's message
  // drops the thoughts of the answers before it.
  std::optional<llm::Failure> add(Role role, std::string_view text);

  // Opens the answer.
  std::optional<llm::Failure> cue();

  // Continues the open answer, or opens it first. Control tokens that `text` names are text in an
  // answer, and those tokens in raw text.
  std::optional<llm::Failure> append(std::string_view text);
  std::optional<llm::Failure> append(std::span<const int32_t> tokens);

  // What the model is asked for the next answer. `thinking` as in ContextOptions, for this answer;
  // one that is open already goes on as it was opened.
  std::variant<Prompt, llm::Failure> prompt(std::optional<bool> thinking = std::nullopt) const;

  // The answer to `prompt`, which came of this context as it is now. Choice::token_ids are its
  // tokens where there is a tokenizer; those of a stop text are left out, and with raw text the end
  // token too. An answer that was cut is a sealed turn.
  void take(const Prompt& prompt, const llm::Choice& answer);

  // As take(), of a text that was chosen and not sampled: the open answer goes on with `text` and
  // ends.
  std::optional<llm::Failure> take_text(std::string_view text);

  // All its tokens; those of messages as rendered so far, without a cue that was not asked for.
  std::variant<std::vector<int32_t>, llm::Failure> tokens() const;

  // Keeps the first `count` tokens; all if there are no more. Within an answer, that one is open
  // again; within what the template made, the context is raw from now on.
  std::optional<llm::Failure> truncate(size_t count);

  // {"role", "content"} and, where thoughts are kept, "reasoning_content"; the last one is the open
  // answer so far, if anything was said.
  boost::json::array messages() const;

  // The contents of its messages, one behind the other, a line break between them; a raw context's
  // text.
  std::string text() const;

  // The last answer was cut by its limit of tokens.
  bool is_truncated() const { return is_truncated_; }

  // Counts its changes: as long as it is the same, so are the tokens.
  uint64_t changes() const { return changes_; }

  // About the memory that is this context's alone, not shared with its forks.
  size_t bytes() const;

 private:
  using Rendered = std::variant<std::shared_ptr<const Rendering>, llm::Failure>;

  // What was rendered of a context as it is now. Shared by its forks until they change.
  struct Renderings {
    // Up to where the model answers, by the thinking that was asked for: as the template does it,
    // no, yes.
    std::array<std::shared_ptr<const Rendering>, 3> of_thinking;

    // Up to the end of the messages.
    std::shared_ptr<const Rendering> without_cue;
  };

  const llm::Tokenizer* tokenizer() const { return model_->tokenizer.get(); }
  bool is_empty() const { return !last_ && !is_open_ && !pieces_; }

  llm::Chat chat_of(boost::json::array messages, std::optional<bool> thinking) const;
  Rendered opening(std::optional<bool> thinking) const;
  std::variant<Rendering, llm::Failure> render_behind(const Turn* base,
                                                      std::optional<bool> thinking) const;
  Rendered without_cue() const;
  std::optional<size_t> cue_size_of(const std::vector<int32_t>& rendered) const;

  void changed();
  void push(boost::json::object message);
  void say(std::vector<int32_t> tokens, std::string bytes);
  void become_raw(std::vector<int32_t> tokens);
  void open_again(const TurnChain& answer, size_t count);
  void seal(boost::json::object message, std::vector<int32_t> more);
  boost::json::object read_answer(const std::vector<int32_t>& more, llm::FinishReason reason) const;

  std::shared_ptr<const ContextModel> model_;
  ContextOptions options_;

  TurnChain last_;

  // The answer that has begun. `opening_` is null where a server elsewhere has the model.
  bool is_open_ = false;
  std::shared_ptr<const Rendering> opening_;
  PieceChain pieces_;  // of the open answer; or, where none is open, of raw text

  std::shared_ptr<Renderings> renderings_;
  bool is_truncated_ = false;
  uint64_t changes_ = 0;
};

}  // namespace windrow::program
