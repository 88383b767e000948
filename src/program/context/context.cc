#include "program/context/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "program/context/answer_tokens.h"

namespace windrow::program {
namespace {

namespace json = boost::json;

using Tokens = std::vector<int32_t>;

constexpr const char* kThinking = "enable_thinking";

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "";
}

json::object message_of(Role role, std::string_view text) {
  return {{"role", to_string(role)}, {"content", text}};
}

// An answer without a word in its thoughts has none that could be dropped.
json::object message_of(const llm::Choice& answer) {
  json::object message = message_of(Role::kAssistant, answer.text);
  if (answer.reasoning && !answer.reasoning->empty()) message[kThoughts] = *answer.reasoning;
  return message;
}

// The thinking that was asked for, as Context::chat_of wrote it.
std::optional<bool> thinking_of(const llm::Chat& chat) {
  const json::value* wish = chat.wishes.if_contains(kThinking);
  if (wish == nullptr) return std::nullopt;
  return wish->as_bool();
}

llm::Failure needs_tokens(std::string_view what, const ContextModel& model) {
  return {.code = "not_for_upstream",
          .message = fmt::format("{} needs the model's tokens, and a server elsewhere has the "
                                 "model{}; use messages (system, user, assistant) and generate, "
                                 "or a model that Windrow runs itself",
                                 what, model.name.empty() ? "" : fmt::format(" {:?}", model.name))};
}

llm::Failure is_raw(std::string_view what) {
  return {.code = "context_is_raw",
          .message = fmt::format("{} is for a chat, and this context is raw text (append made it "
                                 "so while it was empty, or truncate cut into what the template "
                                 "made); use append and generate, or begin a chat in a new context",
                                 what)};
}

llm::Failure is_empty_failure(std::string_view what) {
  return {.code = "context_is_empty",
          .message = fmt::format("{} needs something to answer, and this context is empty; add a "
                                 "message (system, user) or append a text first",
                                 what)};
}

using Memory = std::shared_ptr<ContextMemory>;

std::shared_ptr<const Rendering> counted_rendering(Rendering rendering, const Memory& memory) {
  const size_t bytes = sizeof(Rendering) + rendering.tokens.size() * sizeof(int32_t);
  return counted(std::make_shared<Rendering>(std::move(rendering)), bytes, memory);
}

TurnChain counted_turn(std::shared_ptr<Turn> turn, const Memory& memory) {
  size_t bytes = sizeof(Turn) + turn->tokens.size() * sizeof(int32_t);
  for (const auto& [name, value] : turn->message) {
    if (const json::string* text = value.if_string()) bytes += text->size();
  }
  return counted(std::move(turn), bytes, memory);
}

}  // namespace

Context::Context(std::shared_ptr<const ContextModel> model, ContextOptions options)
    : model_(std::move(model)), options_(options), renderings_(std::make_shared<Renderings>()) {}

std::optional<llm::Failure> Context::add(Role role, std::string_view text) {
  if (pieces_ && !is_open_) return is_raw(to_string(role));
  if (role == Role::kSystem && pieces_) {
    return llm::Failure{
        .code = "context_is_open",
        .message =
            "a message of the system cannot follow an answer that has begun; let the model "
            "end it (generate), or add a message of the user or the assistant first"};
  }
  if (pieces_) seal(read_answer({}, llm::FinishReason::kStop), {});
  is_open_ = false;
  opening_ = nullptr;
  if (role == Role::kUser && !options_.keep_thoughts) last_ = without_thoughts(std::move(last_));
  push(message_of(role, text));
  return std::nullopt;
}

std::optional<llm::Failure> Context::cue() {
  if (pieces_ && !is_open_) return is_raw("cue");
  if (is_open_) return std::nullopt;
  if (is_empty()) return is_empty_failure("cue");
  if (tokenizer() != nullptr) {
    Rendered rendered = opening(options_.thinking);
    if (auto* failure = std::get_if<llm::Failure>(&rendered)) return std::move(*failure);
    opening_ = std::get<std::shared_ptr<const Rendering>>(std::move(rendered));
  }
  is_open_ = true;
  changed();
  return std::nullopt;
}

std::optional<llm::Failure> Context::append(std::string_view text) {
  if (tokenizer() == nullptr && (is_open_ || last_))
    return needs_tokens("append to a chat", *model_);
  if (text.empty()) {
    if (is_empty() || pieces_) return std::nullopt;
    return cue();
  }
  if (is_empty() || (pieces_ && !is_open_)) {
    if (tokenizer() == nullptr) {
      say({}, std::string(text));
      return std::nullopt;
    }
    // The token that a context begins with is no part of its text.
    if (is_empty()) {
      Tokens begin = tokenizer()->encode("", false, llm::SpecialTokens::kBegin);
      const Tokens whole = tokenizer()->encode(text, true, llm::SpecialTokens::kNone);
      const bool is_there = !begin.empty() && !whole.empty() && whole.front() == begin.front();
      if (!begin.empty() && !is_there) say(std::move(begin), "");
    }
    say(tokenizer()->encode(text, true, llm::SpecialTokens::kNone), std::string(text));
    return std::nullopt;
  }
  if (std::optional<llm::Failure> failure = cue()) return failure;
  say(tokenizer()->encode(text, false, llm::SpecialTokens::kNone), std::string(text));
  return std::nullopt;
}

std::optional<llm::Failure> Context::append(std::span<const int32_t> tokens) {
  if (tokenizer() == nullptr) return needs_tokens("append of token ids", *model_);
  const int32_t size = tokenizer()->vocabulary_size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < size) continue;
    return llm::Failure{
        .code = "invalid_token",
        .message = fmt::format("append: token {} at position {} of the list is not one of the "
                               "model {:?}, whose tokens are 0 to {}; pass ids of this model "
                               "(ctx:tokens() gives such)",
                               tokens[i], i + 1, model_->name, size - 1)};
  }
  if (last_)
    if (std::optional<llm::Failure> failure = cue()) return failure;
  if (tokens.empty()) return std::nullopt;
  Tokens added(tokens.begin(), tokens.end());
  std::string bytes = bytes_of(*tokenizer(), added);
  say(std::move(added), std::move(bytes));
  return std::nullopt;
}

std::variant<Prompt, llm::Failure> Context::prompt(std::optional<bool> thinking) const {
  if (is_empty()) return is_empty_failure("generate");
  Prompt prompt;
  if (pieces_ && !is_open_) {
    prompt.is_raw = true;
    append_tokens(pieces_.get(), prompt.tokens);
    if (tokenizer() == nullptr) prompt.text = utf8_repair(bytes_of(pieces_.get()));
    return prompt;
  }
  const std::optional<bool> wanted = thinking ? thinking : options_.thinking;
  if (tokenizer() == nullptr) {
    prompt.chat = chat_of(messages_behind(nullptr, last_.get()), wanted);
    return prompt;
  }
  prompt.chat = chat_of({}, wanted);
  if (is_open_) {
    prompt.tokens = tokens_before_answer(last_.get(), *opening_);
    append_tokens(pieces_.get(), prompt.tokens);
    return prompt;
  }
  const Rendered rendered = opening(wanted);
  if (const auto* failure = std::get_if<llm::Failure>(&rendered)) return *failure;
  prompt.tokens =
      tokens_before_answer(last_.get(), *std::get<std::shared_ptr<const Rendering>>(rendered));
  return prompt;
}

void Context::take(const Prompt& prompt, const llm::Choice& answer) {
  const bool was_cut = answer.finish_reason == llm::FinishReason::kLength;
  if (prompt.is_raw) {
    if (tokenizer() == nullptr) {
      say({}, answer.text);
    } else {
      Tokens said = tokens_said_raw(*tokenizer(), answer);
      std::string bytes = bytes_of(*tokenizer(), said);
      say(std::move(said), std::move(bytes));
    }
  } else if (tokenizer() == nullptr) {
    push(message_of(answer));
  } else {
    if (!is_open_) {
      // It was rendered for `prompt`; where it cannot be had again, the answer is a message.
      Rendered rendered = opening(thinking_of(prompt.chat));
      if (auto* made = std::get_if<std::shared_ptr<const Rendering>>(&rendered))
        opening_ = std::move(*made);
    }
    Tokens said = tokens_said(*tokenizer(), answer);
    json::object message = pieces_ ? read_answer(said, answer.finish_reason) : message_of(answer);
    seal(std::move(message), std::move(said));
  }
  is_open_ = false;
  is_truncated_ = was_cut;
}

std::optional<llm::Failure> Context::take_text(std::string_view text) {
  if (is_empty()) return is_empty_failure("select");
  const bool raw = pieces_ && !is_open_;
  Tokens said;
  if (tokenizer() != nullptr) said = tokenizer()->encode(text, false, llm::SpecialTokens::kNone);
  if (raw) {
    say(std::move(said), std::string(text));
  } else {
    if (std::optional<llm::Failure> failure = cue()) return failure;
    json::object message =
        pieces_ ? read_answer(said, llm::FinishReason::kStop) : message_of(Role::kAssistant, text);
    seal(std::move(message), std::move(said));
  }
  is_truncated_ = false;
  return std::nullopt;
}

std::variant<Tokens, llm::Failure> Context::tokens() const {
  if (tokenizer() == nullptr) return needs_tokens("tokens", *model_);
  Tokens tokens;
  if (is_open_) tokens = tokens_before_answer(last_.get(), *opening_);
  append_tokens(pieces_.get(), tokens);
  if (is_open_ || pieces_) return tokens;
  if (last_ && last_->opening) return tokens_up_to(last_.get());
  if (!last_) return tokens;
  const Rendered rendered = without_cue();
  if (const auto* failure = std::get_if<llm::Failure>(&rendered)) return *failure;
  return tokens_before_answer(last_.get(), *std::get<std::shared_ptr<const Rendering>>(rendered));
}

std::optional<llm::Failure> Context::truncate(size_t count) {
  if (tokenizer() == nullptr) return needs_tokens("truncate", *model_);
  std::variant<Tokens, llm::Failure> all = tokens();
  if (auto* failure = std::get_if<llm::Failure>(&all)) return std::move(*failure);
  std::shared_ptr<const Rendering> behind = is_open_ ? opening_ : renderings_->without_cue;
  Tokens kept = std::get<Tokens>(std::move(all));
  if (count >= kept.size()) return std::nullopt;

  is_truncated_ = false;
  changed();
  if (count == 0) {
    last_ = nullptr;
    pieces_ = nullptr;
    opening_ = nullptr;
    is_open_ = false;
    return std::nullopt;
  }
  const size_t said_from = kept.size() - tokens_of(pieces_.get());
  if (count >= said_from) {
    pieces_ = first_tokens(std::move(pieces_), count - said_from, *tokenizer());
    return std::nullopt;
  }

  // Backwards over the answers, each with what was rendered behind it.
  TurnChain turn = last_;
  while (turn) {
    if (!turn->opening) {
      turn = turn->before;
      continue;
    }
    if (behind != nullptr && behind->is_whole) break;
    const size_t end = turn->end - (behind != nullptr && behind->drops_last ? 1 : 0);
    if (count > end) break;
    if (count == turn->end) {
      pieces_ = nullptr;
      opening_ = nullptr;
      is_open_ = false;
      last_ = std::move(turn);
      return std::nullopt;
    }
    if (count >= turn->begin()) {
      open_again(turn, count - turn->begin());
      return std::nullopt;
    }
    behind = turn->opening;
    turn = turn->before;
  }
  kept.resize(count);
  become_raw(kept);
  return std::nullopt;
}

json::array Context::messages() const {
  json::array messages = messages_behind(nullptr, last_.get());
  if (is_open_ && pieces_) messages.push_back(read_answer({}, llm::FinishReason::kStop));
  return messages;
}

std::string Context::text() const {
  if (pieces_ && !is_open_) return utf8_repair(bytes_of(pieces_.get()));
  std::string text;
  for (const json::value& message : messages()) {
    if (!text.empty()) text += '\n';
    text += std::string_view(message.at("content").as_string());
  }
  return text;
}

size_t Context::bytes() const {
  size_t bytes =
      sizeof(Context) + bytes_alone(last_) + bytes_alone(pieces_) + bytes_alone(opening_);
  if (renderings_.use_count() != 1) return bytes;
  for (const std::shared_ptr<const Rendering>& rendering : renderings_->of_thinking)
    bytes += bytes_alone(rendering);
  return bytes + sizeof(Renderings) + bytes_alone(renderings_->without_cue);
}

llm::Chat Context::chat_of(json::array messages, std::optional<bool> thinking) const {
  llm::Chat chat;
  chat.messages = std::move(messages);
  if (thinking) chat.wishes[kThinking] = *thinking;
  return chat;
}

// Up to where the next answer begins, rendered once for a context and its forks.
Context::Rendered Context::opening(std::optional<bool> thinking) const {
  const size_t asked = !thinking ? 0 : (*thinking ? 2 : 1);
  std::shared_ptr<const Rendering>& made = renderings_->of_thinking.at(asked);
  if (made) return made;
  std::variant<Rendering, llm::Failure> rendered =
      render_behind(last_sampled(last_.get()), thinking);
  if (auto* failure = std::get_if<llm::Failure>(&rendered)) return std::move(*failure);
  made = counted_rendering(std::get<Rendering>(std::move(rendered)), options_.memory);
  return made;
}

// What follows the answer `base`; the whole conversation where there is none, or where the template
// cannot be rendered in parts.
std::variant<Rendering, llm::Failure> Context::render_behind(const Turn* base,
                                                             std::optional<bool> thinking) const {
  if (base != nullptr) {
    std::variant<llm::AppendedTokens, llm::Failure> appended = tokenizer()->append(
        {.message = base->message, .tokens = base->tokens, .has_system = base->has_system},
        chat_of(messages_behind(base, last_.get()), thinking));
    if (auto* made = std::get_if<llm::AppendedTokens>(&appended))
      return Rendering{.tokens = std::move(made->tokens), .drops_last = made->drops_last};
  }
  std::variant<llm::RenderedChat, llm::Failure> whole =
      tokenizer()->render(chat_of(messages_behind(nullptr, last_.get()), thinking), true);
  if (auto* failure = std::get_if<llm::Failure>(&whole)) return std::move(*failure);
  return Rendering{.tokens = std::get<llm::RenderedChat>(std::move(whole)).tokens,
                   .is_whole = true};
}

// The messages behind the last answer while the next one was not asked for: what is rendered to ask
// for it, without the cue at its end.
Context::Rendered Context::without_cue() const {
  if (renderings_->without_cue) return renderings_->without_cue;
  Rendered asking = opening(options_.thinking);
  if (std::holds_alternative<llm::Failure>(asking)) return asking;
  Rendering rendering = *std::get<std::shared_ptr<const Rendering>>(asking);
  if (const std::optional<size_t> cue = cue_size_of(rendering.tokens)) {
    rendering.tokens.resize(rendering.tokens.size() - *cue);
  } else if (rendering.is_whole) {
    std::variant<llm::RenderedChat, llm::Failure> whole = tokenizer()->render(
        chat_of(messages_behind(nullptr, last_.get()), options_.thinking), false);
    if (auto* failure = std::get_if<llm::Failure>(&whole)) return std::move(*failure);
    rendering.tokens = std::get<llm::RenderedChat>(std::move(whole)).tokens;
  }
  renderings_->without_cue = counted_rendering(std::move(rendering), options_.memory);
  return renderings_->without_cue;
}

// The tokens that ask for an answer, at the end of `rendered`; nothing if they are not these of a
// short chat.
std::optional<size_t> Context::cue_size_of(const Tokens& rendered) const {
  const llm::Chat chat = chat_of({message_of(Role::kUser, "x")}, options_.thinking);
  const std::variant<llm::RenderedChat, llm::Failure> asking = tokenizer()->render(chat, true);
  const std::variant<llm::RenderedChat, llm::Failure> plain = tokenizer()->render(chat, false);
  const auto* longer = std::get_if<llm::RenderedChat>(&asking);
  const auto* shorter = std::get_if<llm::RenderedChat>(&plain);
  if (longer == nullptr || shorter == nullptr) return std::nullopt;
  const auto [cue, rest] = std::ranges::mismatch(longer->tokens, shorter->tokens);
  const std::span<const int32_t> cue_tokens(cue, longer->tokens.end());
  if (rest != shorter->tokens.end() || cue_tokens.size() > rendered.size()) return std::nullopt;
  if (!std::ranges::equal(std::span(rendered).last(cue_tokens.size()), cue_tokens))
    return std::nullopt;
  return cue_tokens.size();
}

// Forks keep what was rendered of the context as it was.
void Context::changed() {
  ++changes_;
  renderings_ = std::make_shared<Renderings>();
}

void Context::push(json::object message) {
  last_ =
      counted_turn(std::make_shared<Turn>(std::move(last_), std::move(message)), options_.memory);
  changed();
}

void Context::say(Tokens tokens, std::string bytes) {
  if (tokens.empty() && bytes.empty()) return;
  const size_t size = sizeof(Piece) + tokens.size() * sizeof(int32_t) + bytes.size();
  pieces_ =
      counted(std::make_shared<Piece>(std::move(pieces_), std::move(tokens), std::move(bytes)),
              size, options_.memory);
  changed();
}

// The token that a context begins with is no part of its text.
void Context::become_raw(Tokens tokens) {
  last_ = nullptr;
  opening_ = nullptr;
  pieces_ = nullptr;
  is_open_ = false;
  const Tokens begin = tokenizer()->encode("", false, llm::SpecialTokens::kBegin);
  if (!begin.empty() && tokens.front() == begin.front()) {
    say({begin.front()}, "");
    tokens.erase(tokens.begin());
  }
  std::string bytes = bytes_of(*tokenizer(), tokens);
  say(std::move(tokens), std::move(bytes));
}

// With the first `count` of its tokens.
void Context::open_again(const TurnChain& answer, size_t count) {
  is_open_ = true;
  opening_ = answer->opening;
  last_ = answer->before;
  pieces_ = nullptr;
  Tokens kept(answer->tokens.begin(), answer->tokens.begin() + static_cast<std::ptrdiff_t>(count));
  std::string bytes = bytes_of(*tokenizer(), kept);
  say(std::move(kept), std::move(bytes));
}

// The open answer ends with the tokens `more`. One without tokens is a message.
void Context::seal(json::object message, Tokens more) {
  Tokens said;
  append_tokens(pieces_.get(), said);
  said.insert(said.end(), more.begin(), more.end());
  if (opening_ && !said.empty()) {
    last_ = counted_turn(std::make_shared<Turn>(std::move(last_), std::move(message),
                                                std::move(opening_), std::move(said)),
                         options_.memory);
    changed();
  } else {
    push(std::move(message));
  }
  pieces_ = nullptr;
  opening_ = nullptr;
  is_open_ = false;
}

// The message of the open answer with the tokens `more`, read as its model's answers are.
json::object Context::read_answer(const Tokens& more, llm::FinishReason reason) const {
  Tokens said;
  append_tokens(pieces_.get(), said);
  said.insert(said.end(), more.begin(), more.end());
  const Tokens before = tokens_before_answer(last_.get(), *opening_);
  const std::unique_ptr<llm::AnswerReader> reader =
      tokenizer()->read_answer(chat_of({}, options_.thinking), before, {});
  reader->take(said);
  return message_of(reader->end(reason).choice);
}

}  // namespace windrow::program
