// ScriptedModels: models of sessions that answer when and what the test says, with ChatmlTokenizer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "llm/testing/chatml_tokenizer.h"
#include "session/models/session_models.h"

namespace windrow::session::testing {

// An answer that says `text`, and ends with the end token unless it was cut. `rows_of` makes the
// rows that the question wants: the values of a row, by its number.
using RowValues = std::function<std::vector<int32_t>(RowKind kind, size_t row)>;
TurnAnswer make_answer(const TurnQuestion& question, std::string_view text,
                       std::string_view finish_reason = "stop", const RowValues& rows_of = {});

// Thread-safe.
class ScriptedModels final : public SessionModels {
 public:
  explicit ScriptedModels(ModelKind kind = ModelKind::kEmbedded) : kind_(kind) {}

  // A turn or passed request that was asked and not answered yet. A stopped token ends it.
  struct Asked {
    TurnQuestion question;
    std::shared_ptr<llm::StreamSink> listener;

    // Of a passed request:
    std::string model;
    llm::HttpMethod method = llm::HttpMethod::kPost;
    std::string target;
    std::string body;

    void answer(TurnOutcome outcome) { end(std::move(outcome)); }
    void answer(std::string_view text, std::string_view finish_reason = "stop",
                const RowValues& rows_of = {}) {
      end(make_answer(question, text, finish_reason, rows_of));
    }

    std::function<void(TurnOutcome)> end;
  };

  // The next one that comes; blocks until then.
  std::shared_ptr<Asked> next();

  // All that come are answered at once by this; null: they wait for next().
  void answer_all(std::function<TurnOutcome(const TurnQuestion&)> answer);

  size_t asked() const;  // so far

  std::variant<SessionModel, llm::Failure> find(std::string_view name) override;
  void ask(const SessionModel& model, TurnQuestion question,
           std::shared_ptr<llm::StreamSink> listener, std::stop_token unwanted,
           std::function<void(TurnOutcome)> done) override;
  void pass(std::string_view model, std::string_view session, const TurnCaller& caller,
            llm::Verbatim verbatim, std::string body, std::vector<llm::RequestHeader> headers,
            std::stop_token unwanted,
            std::function<void(std::variant<PassedReply, llm::Failure>)> done) override;

 private:
  void put(const std::shared_ptr<Asked>& asked, std::stop_token unwanted,
           std::function<void(TurnOutcome)> done);

  const ModelKind kind_;
  const std::shared_ptr<const llm::testing::ChatmlTokenizer> tokenizer_ =
      std::make_shared<llm::testing::ChatmlTokenizer>();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Asked>> waiting_;
  std::function<TurnOutcome(const TurnQuestion&)> answer_;
  size_t asked_ = 0;
};

}  // namespace windrow::session::testing
