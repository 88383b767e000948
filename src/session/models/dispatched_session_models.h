// DispatchedSessionModels: the models of a server, asked by sessions through dispatch: turns take
// part in its batches and fair queueing, and turns of one session go to one upstream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "async/in_flight_counter.h"
#include "base/clock.h"
#include "dispatch/models.h"
#include "dispatch/submitter.h"
#include "dispatch/work_item.h"
#include "llm/body_reader.h"
#include "llm/tokenizer.h"
#include "session/models/session_models.h"

namespace windrow::session {

struct DispatchedSessionModelsOptions {
  // How a model is asked that is not in this process; nullopt: that is not known.
  std::function<std::optional<ModelKind>(std::string_view model)> kind_of;

  // Null where there is none. May block while it is loaded; an error says why it cannot be.
  std::function<Result<std::shared_ptr<const llm::Tokenizer>>(std::string_view model)> tokenizer_of;

  llm::BodyRules body;  // of models that are not asked by kSglangChat
  int64_t output_tokens_default = 4096;
  size_t reply_bytes_max = size_t{512} << 20;
  int32_t attempts_max = 1;  // of a turn

  // WorkItem::weight of a key, and what its turns used; may be empty.
  std::function<int32_t(std::string_view key)> weight_of;
  std::function<void(std::string_view key, const llm::Usage& usage)> charge;
};

class DispatchedSessionModels final : public SessionModels {
 public:
  // Both outlive it.
  DispatchedSessionModels(dispatch::Models& models, const Clock& clock,
                          DispatchedSessionModelsOptions options);

  // Blocks until every Done has returned: stop what asks, by the tokens, before.
  ~DispatchedSessionModels() override;
  DispatchedSessionModels(const DispatchedSessionModels&) = delete;
  DispatchedSessionModels& operator=(const DispatchedSessionModels&) = delete;

  std::variant<SessionModel, llm::Failure> find(std::string_view name) override;
  void ask(const SessionModel& model, TurnQuestion question,
           std::shared_ptr<llm::StreamSink> listener, std::stop_token unwanted,
           std::function<void(TurnOutcome)> done) override;
  void pass(std::string_view model, std::string_view session, const TurnCaller& caller,
            llm::Verbatim verbatim, std::string body, std::vector<llm::RequestHeader> headers,
            std::stop_token unwanted,
            std::function<void(std::variant<PassedReply, llm::Failure>)> done) override;

 private:
  struct Asked;
  using Ended = std::function<void(llm::Outcome)>;

  void offer(std::string_view name, llm::Request request, size_t body_bytes,
             std::string_view session, const TurnCaller& caller, dispatch::Delivery delivery,
             const std::stop_token& unwanted, Ended ended);
  TurnOutcome outcome_or_failure(Asked& asked, llm::Outcome outcome) const;
  TurnOutcome outcome_of(Asked& asked, llm::Outcome outcome) const;

  dispatch::Models& models_;
  const Clock& clock_;
  const DispatchedSessionModelsOptions options_;
  async::InFlightCounter calls_;

  // Reads what is left of replies at their end: the threads of backends must not wait for that.
  async::Executor readers_;
};

// The message of an answer, as a chat's reply has it. Pure.
boost::json::object message_of(const llm::Choice& choice);

}  // namespace windrow::session
