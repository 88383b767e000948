#include "session/testing/scripted_models.h"

#include <atomic>

#include "session/models/dispatched_session_models.h"

namespace windrow::session::testing {
namespace {

constexpr double kLogprob = -0.125;

llm::Failure stopped() {
  return {.failure_class = llm::FailureClass::kCancelled,
          .status = 499,
          .code = "cancelled",
          .message = "cancelled"};
}

}  // namespace

TurnAnswer make_answer(const TurnQuestion& question, std::string_view text,
                       std::string_view finish_reason, const RowValues& rows_of) {
  const llm::testing::ChatmlTokenizer tokenizer;
  TurnAnswer answer;
  TurnReply& reply = answer.reply;
  reply.tokens = tokenizer.tokens_of(text);
  if (finish_reason != "length") reply.tokens.push_back(llm::testing::ChatmlTokenizer::kEnd);
  for (size_t i = 0; i < reply.tokens.size(); ++i)
    reply.logprobs.push_back(kLogprob * static_cast<double>(i + 1));
  reply.figures.prompt_tokens = static_cast<int64_t>(question.prompt.size());
  const size_t rows_end = question.prompt.size() + reply.tokens.size() - 1;
  for (const RowKind kind : {RowKind::kRoutedExperts, RowKind::kIndexerTopk}) {
    const WantedRows& wanted = question.rows[static_cast<size_t>(kind)];
    if (!wanted.wanted || !rows_of) continue;
    auto rows = std::make_shared<TokenRows>();
    rows->first_row = wanted.first_row;
    for (size_t row = wanted.first_row; row < rows_end; ++row) {
      const std::vector<int32_t> values = rows_of(kind, row);
      rows->values_per_row = values.size();
      rows->values.append(values);
    }
    if (rows->values_per_row != 0) reply.rows[static_cast<size_t>(kind)] = std::move(rows);
  }
  const auto reader = tokenizer.read_answer(question.chat, question.prompt, {.seed = 1});
  (void)reader->take(reply.tokens);
  llm::Choice choice =
      reader->end(finish_reason == "length" ? llm::FinishReason::kLength : llm::FinishReason::kStop)
          .choice;
  reply.finish_reason = choice.finish_reason == llm::FinishReason::kToolCalls
                            ? std::string("tool_calls")
                            : std::string(finish_reason);
  answer.message = message_of(choice);
  answer.choice = std::move(choice);
  answer.sent = question.body;
  answer.sent.erase("messages");
  return answer;
}

std::shared_ptr<ScriptedModels::Asked> ScriptedModels::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_.empty(); });
  std::shared_ptr<Asked> asked = std::move(waiting_.front());
  waiting_.pop_front();
  return asked;
}

void ScriptedModels::answer_all(std::function<TurnOutcome(const TurnQuestion&)> answer) {
  const std::scoped_lock lock(mutex_);
  answer_ = std::move(answer);
}

size_t ScriptedModels::asked() const {
  const std::scoped_lock lock(mutex_);
  return asked_;
}

std::variant<SessionModel, llm::Failure> ScriptedModels::find(std::string_view name) {
  if (!name.empty() && name != "model" && name != "other") {
    return llm::Failure{.status = 404,
                        .code = "model_not_found",
                        .message = "there is no model " + std::string(name),
                        .param = "model"};
  }
  return SessionModel{
      .name = name.empty() ? "model" : std::string(name), .kind = kind_, .tokenizer = tokenizer_};
}

void ScriptedModels::put(const std::shared_ptr<Asked>& asked, std::stop_token unwanted,
                         std::function<void(TurnOutcome)> done) {
  struct Once {
    std::atomic<bool> over = false;
    std::function<void(TurnOutcome)> done;
    std::optional<std::stop_callback<std::function<void()>>> stop;
    void end(TurnOutcome outcome) {
      if (!over.exchange(true)) done(std::move(outcome));
    }
  };
  auto once = std::make_shared<Once>();
  once->done = std::move(done);
  asked->end = [once](TurnOutcome outcome) { once->end(std::move(outcome)); };
  std::function<TurnOutcome(const TurnQuestion&)> answer;
  {
    const std::scoped_lock lock(mutex_);
    ++asked_;
    answer = answer_;
    if (!answer) waiting_.push_back(asked);
  }
  changed_.notify_all();
  if (answer) return once->end(answer(asked->question));
  // The callback refers to itself weakly: a turn that is never stopped is not kept for ever.
  once->stop.emplace(std::move(unwanted), [weak = std::weak_ptr(once)] {
    if (const auto open = weak.lock()) open->end(stopped());
  });
}

void ScriptedModels::ask(const SessionModel& /*model*/, TurnQuestion question,
                         std::shared_ptr<llm::StreamSink> listener, std::stop_token unwanted,
                         std::function<void(TurnOutcome)> done) {
  auto asked = std::make_shared<Asked>();
  asked->question = std::move(question);
  asked->listener = std::move(listener);
  put(asked, std::move(unwanted), std::move(done));
}

void ScriptedModels::pass(std::string_view model, std::string_view session,
                          const TurnCaller& caller, llm::Verbatim verbatim, std::string body,
                          std::vector<llm::RequestHeader> headers, std::stop_token unwanted,
                          std::function<void(std::variant<PassedReply, llm::Failure>)> done) {
  auto asked = std::make_shared<Asked>();
  asked->question.session = session;
  asked->question.caller = caller;
  asked->question.headers = std::move(headers);
  asked->model = model;
  asked->method = verbatim.method;
  asked->target = std::move(verbatim.target);
  asked->body = std::move(body);
  put(asked, std::move(unwanted), [done = std::move(done)](TurnOutcome outcome) {
    if (auto* passed = std::get_if<PassedReply>(&outcome)) return done(std::move(*passed));
    done(std::get<llm::Failure>(std::move(outcome)));
  });
}

}  // namespace windrow::session::testing
