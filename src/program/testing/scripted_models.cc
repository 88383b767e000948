#include "program/testing/scripted_models.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/ensure.h"
#include "llm/testing/chatml_tokenizer.h"

namespace windrow::program::testing {
namespace {

using Tokens = llm::testing::ChatmlTokenizer;
using AnyDone = std::variant<CallDone<GenerateReply>, CallDone<ScoreReply>, CallDone<EmbedReply>>;

llm::Failure cancelled() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "the call was stopped",
          .param = {}};
}

std::vector<int32_t> plain_tokens(std::string_view text) {
  return Tokens().encode(text, /*control=*/false, llm::SpecialTokens::kNone);
}

std::string text_of_prompt(const Prompt& prompt) {
  const Tokens tokenizer;
  std::string text;
  for (const int32_t token : prompt.tokens)
    tokenizer.append_piece(token, text);
  if (!prompt.tokens.empty()) return text;
  if (prompt.is_raw) return prompt.text;
  auto rendered = tokenizer.render(prompt.chat, /*asks_for_answer=*/true);
  const auto* chat = std::get_if<llm::RenderedChat>(&rendered);
  return chat == nullptr ? std::get<llm::Failure>(rendered).message : chat->text;
}

int32_t count(const std::vector<int32_t>& tokens) {
  return static_cast<int32_t>(tokens.size());
}

int32_t prompt_tokens_of(const ScriptedModels::Call& call) {
  return count(call.prompt.tokens.empty() ? plain_tokens(call.prompt_text) : call.prompt.tokens);
}

// What a model answers that says `text`.
GenerateReply reply_of_text(const ScriptedModels::Call& call, std::string_view text,
                            llm::FinishReason finish, bool has_tokens) {
  const Tokens tokenizer;
  std::vector<int32_t> tokens = plain_tokens(text);
  if (finish != llm::FinishReason::kLength) tokens.push_back(Tokens::kEnd);
  const auto reader = tokenizer.read_answer(
      call.prompt.chat, call.prompt.tokens,
      {.stop = call.options.stop, .structured = call.options.structured.has_value()});
  (void)reader->take(tokens);
  llm::AnswerReader::End end = reader->end(finish);
  GenerateReply reply{.choice = std::move(end.choice),
                      .usage = {.prompt_tokens = prompt_tokens_of(call),
                                .completion_tokens = count(tokens),
                                .reasoning_tokens = end.reasoning_tokens}};
  if (has_tokens) reply.choice.token_ids = std::move(tokens);
  return reply;
}

GenerateReply reply_of_choice(const ScriptedModels::Call& call, llm::Choice choice,
                              bool has_tokens) {
  std::vector<int32_t> tokens = choice.token_ids;
  if (tokens.empty()) {
    tokens = plain_tokens(choice.text);
    if (choice.finish_reason != llm::FinishReason::kLength) tokens.push_back(Tokens::kEnd);
  }
  const llm::Usage usage{.prompt_tokens = prompt_tokens_of(call),
                         .completion_tokens = count(tokens)};
  if (has_tokens) choice.token_ids = std::move(tokens);
  return {.choice = std::move(choice), .usage = usage};
}

ScoreReply reply_of_scores(const ScriptedModels::Call& call, const std::vector<double>& logprobs) {
  ENSURE(logprobs.size() == call.continuations.size(), "{} scores for {} texts", logprobs.size(),
         call.continuations.size());
  ScoreReply reply;
  reply.usage.prompt_tokens = prompt_tokens_of(call);
  for (size_t i = 0; i < logprobs.size(); ++i) {
    const int32_t tokens = count(call.continuations[i]);
    reply.scores.push_back({.logprob = logprobs[i], .tokens = tokens});
    reply.usage.prompt_tokens += tokens;
  }
  return reply;
}

EmbedReply reply_of_vectors(const ScriptedModels::Call& call,
                            std::vector<std::vector<float>> vectors) {
  ENSURE(vectors.size() == call.texts.size(), "{} vectors for {} texts", vectors.size(),
         call.texts.size());
  EmbedReply reply{.vectors = std::move(vectors), .usage = {}};
  for (const std::string& text : call.texts)
    reply.usage.prompt_tokens += count(plain_tokens(text));
  return reply;
}

}  // namespace

// Outlives ScriptedModels where a hold does.
struct ScriptedModels::State {
  // Ends a call whose token is stopped.
  struct Stop {
    State* state = nullptr;
    uint64_t number = 0;
    // Ending the call destroys this object, so it uses copies from then on.
    void operator()() const { State::stop(state, number); }
  };

  struct Waiting {
    AnyDone done;
    std::unique_ptr<std::stop_callback<Stop>> stop;
  };

  class Hold final : public llm::PrefixHold {
   public:
    Hold(std::shared_ptr<State> state, size_t tokens) : state_(std::move(state)), tokens_(tokens) {
      ++state_->holds;
      state_->held_tokens += tokens_;
    }
    ~Hold() override {
      --state_->holds;
      state_->held_tokens -= tokens_;
    }

   private:
    const std::shared_ptr<State> state_;
    const size_t tokens_;
  };

  explicit State(bool upstream) : has_tokens(!upstream) {
    std::shared_ptr<const llm::Tokenizer> tokenizer;
    if (has_tokens) tokenizer = std::make_shared<const Tokens>();
    for (const char* name : {"model", "other"}) {
      models.push_back(
          std::make_shared<const ContextModel>(ContextModel{.name = name, .tokenizer = tokenizer}));
    }
  }

  // Notes a call, which from then on waits, unless it is stopped already.
  Call enter(Call call, AnyDone done, const std::stop_token& unwanted) {
    {
      const std::scoped_lock lock(mutex);
      call.number = calls.size() + 1;
      call.is_stopped = unwanted.stop_requested();
      calls.push_back(call);
      if (!call.is_stopped) waiting[call.number].done = std::move(done);
    }
    changed.notify_all();
    if (call.is_stopped) {
      std::visit([](auto& ended) { ended(cancelled()); }, done);
      return call;
    }
    auto stop = std::make_unique<std::stop_callback<Stop>>(
        unwanted, Stop{.state = this, .number = call.number});
    const std::scoped_lock lock(mutex);
    const auto place = waiting.find(call.number);
    if (place != waiting.end()) place->second.stop = std::move(stop);
    return call;
  }

  // Takes a waiting call. What it returns is destroyed without the lock: that waits for a stop that
  // runs on another thread, which takes the lock.
  std::optional<std::pair<Call, Waiting>> take(uint64_t number, bool is_stopped = false) {
    const std::scoped_lock lock(mutex);
    auto node = waiting.extract(number);
    if (node.empty()) return std::nullopt;
    Call& call = calls[number - 1];
    call.is_stopped |= is_stopped;
    return std::pair(call, std::move(node.mapped()));
  }

  static void stop(State* state, uint64_t number) {
    if (state->keeps_stopped) {
      const std::scoped_lock lock(state->mutex);
      state->calls[number - 1].is_stopped = true;
      return;
    }
    auto taken = state->take(number, /*is_stopped=*/true);
    if (taken) std::visit([](auto& done) { done(cancelled()); }, taken->second.done);
  }

  // Ends a call of the kind of `Reply` with what `make` makes of it.
  template <class Reply, class Make>
  bool end(uint64_t number, Make make) {
    auto taken = take(number);
    if (!taken) return false;
    auto* done = std::get_if<CallDone<Reply>>(&taken->second.done);
    ENSURE(done != nullptr, "call {} is of another kind", number);
    (*done)(make(taken->first));
    return true;
  }

  std::vector<Call> waiting_calls() const {
    std::vector<Call> found;
    for (const auto& [number, call] : waiting)
      found.push_back(calls[number - 1]);
    return found;
  }

  const bool has_tokens;
  std::vector<std::shared_ptr<const ContextModel>> models;
  std::atomic<size_t> holds = 0;
  std::atomic<size_t> held_tokens = 0;
  std::atomic<bool> keeps_stopped = false;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::vector<Call> calls;
  std::map<uint64_t, Waiting> waiting;  // by number
};

ScriptedModels::ScriptedModels(bool upstream) : state_(std::make_shared<State>(upstream)) {}

ScriptedModels::~ScriptedModels() {
  state_->keeps_stopped = false;
  for (const Call& call : waiting())
    State::stop(state_.get(), call.number);
}

std::vector<ScriptedModels::Call> ScriptedModels::waiting() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->waiting_calls();
}

std::vector<ScriptedModels::Call> ScriptedModels::wait_for_waiting(size_t count) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->waiting.size() >= count; });
  return state_->waiting_calls();
}

std::vector<ScriptedModels::Call> ScriptedModels::calls() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->calls;
}

bool ScriptedModels::answer(uint64_t number, std::string_view text, llm::FinishReason finish) {
  return state_->end<GenerateReply>(number, [&](const Call& call) {
    return reply_of_text(call, text, finish, state_->has_tokens);
  });
}

bool ScriptedModels::answer(uint64_t number, llm::Choice choice) {
  return state_->end<GenerateReply>(number, [&](const Call& call) {
    return reply_of_choice(call, std::move(choice), state_->has_tokens);
  });
}

bool ScriptedModels::score(uint64_t number, const std::vector<double>& logprobs) {
  return state_->end<ScoreReply>(number,
                                 [&](const Call& call) { return reply_of_scores(call, logprobs); });
}

bool ScriptedModels::embed(uint64_t number, std::vector<std::vector<float>> vectors) {
  return state_->end<EmbedReply>(
      number, [&](const Call& call) { return reply_of_vectors(call, std::move(vectors)); });
}

bool ScriptedModels::fail(uint64_t number, llm::Failure failure) {
  auto taken = state_->take(number);
  if (!taken) return false;
  std::visit([&](auto& done) { done(std::move(failure)); }, taken->second.done);
  return true;
}

void ScriptedModels::keep_stopped_calls() {
  state_->keeps_stopped = true;
}

size_t ScriptedModels::holds() const {
  return state_->holds;
}

size_t ScriptedModels::held_tokens() const {
  return state_->held_tokens;
}

std::variant<std::shared_ptr<const ContextModel>, llm::Failure> ScriptedModels::find(
    std::string_view name) {
  for (const auto& model : state_->models)
    if (name.empty() || name == model->name) return model;
  return llm::Failure{.status = 404,
                      .code = "model_not_found",
                      .message = "there is no model " + std::string(name) + "; use model or other",
                      .param = "model"};
}

void ScriptedModels::generate(std::shared_ptr<const ContextModel> model, Prompt prompt,
                              GenerateOptions options, CallOwner owner, std::stop_token unwanted,
                              CallDone<GenerateReply> done) {
  std::string text = text_of_prompt(prompt);
  const Call call = state_->enter({.kind = Kind::kGenerate,
                                   .model = model->name,
                                   .prompt = std::move(prompt),
                                   .prompt_text = std::move(text),
                                   .options = std::move(options),
                                   .continuations = {},
                                   .texts = {},
                                   .owner = std::move(owner)},
                                  std::move(done), unwanted);
  if (call.is_stopped || !answer_at_once) return;
  if (const std::optional<std::string> said = answer_at_once(call)) answer(call.number, *said);
}

void ScriptedModels::score(std::shared_ptr<const ContextModel> model, Prompt prompt,
                           std::vector<std::vector<int32_t>> continuations, CallOwner owner,
                           std::stop_token unwanted, CallDone<ScoreReply> done) {
  std::string text = text_of_prompt(prompt);
  const Call call = state_->enter({.kind = Kind::kScore,
                                   .model = model->name,
                                   .prompt = std::move(prompt),
                                   .prompt_text = std::move(text),
                                   .options = {},
                                   .continuations = std::move(continuations),
                                   .texts = {},
                                   .owner = std::move(owner)},
                                  std::move(done), unwanted);
  if (call.is_stopped || !score_at_once) return;
  if (const auto logprobs = score_at_once(call)) score(call.number, *logprobs);
}

void ScriptedModels::embed(std::string_view model, std::vector<std::string> texts, CallOwner owner,
                           std::stop_token unwanted, CallDone<EmbedReply> done) {
  const Call call = state_->enter({.kind = Kind::kEmbed,
                                   .model = std::string(model),
                                   .prompt = {},
                                   .prompt_text = {},
                                   .options = {},
                                   .continuations = {},
                                   .texts = std::move(texts),
                                   .owner = std::move(owner)},
                                  std::move(done), unwanted);
  if (call.is_stopped || !embed_at_once) return;
  if (auto vectors = embed_at_once(call)) embed(call.number, std::move(*vectors));
}

std::unique_ptr<llm::PrefixHold> ScriptedModels::hold(const ContextModel& /*model*/,
                                                      std::vector<int32_t> tokens) {
  if (!state_->has_tokens) return nullptr;
  return std::make_unique<State::Hold>(state_, tokens.size());
}

}  // namespace windrow::program::testing
