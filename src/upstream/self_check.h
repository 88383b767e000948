// The self-check of a job: detects a server that gives a request the answer to another one. Servers
// and proxies have done so under load, and nothing in such an answer looks wrong. So questions are
// planted among the rows, each with a code of its own that the answer has to repeat; a code in any
// other answer shows a mix-up.
//
// SelfCheck makes the questions and judges answers. MixUpWatch does so for all threads and servers:
// the submitter of rows takes questions from it, and a CheckedBackend in front of each server
// passes all answers through it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "llm/answer.h"
#include "llm/backend.h"
#include "llm/request.h"

namespace windrow::upstream {

struct SelfCheckCounts {
  int64_t planted = 0;   // questions that were answered
  int64_t repeated = 0;  // of these, answers with the right code
  int64_t mixed_up = 0;  // answers with the code of another question

  friend bool operator==(const SelfCheckCounts&, const SelfCheckCounts&) = default;
};

// Limit of the answer to a question: enough for the code and a few words around it.
inline constexpr int32_t kQuestionTokensMax = 64;

// Pure; one thread at a time.
class SelfCheck {
 public:
  // `run` tells the codes of this run from those of others; a random number.
  explicit SelfCheck(uint64_t run);

  // Whether a question should be planted beside the row that is sent now: the first few rows, then
  // one of twenty.
  bool wants_one();

  struct Question {
    uint64_t number = 0;
    std::string body;  // of /v1/chat/completions
  };
  Question plant(std::string_view model);

  // Which question the body of a request asks; absent for anything else.
  std::optional<uint64_t> question_in(std::string_view body) const;

  // Take the body of an answer to a row, and to a question. Return what is wrong, in words for
  // people, when the answer has the code of another question.
  std::optional<std::string> see_row(std::string_view body);
  std::optional<std::string> see_question(uint64_t number, std::string_view body);

  const SelfCheckCounts& counts() const { return counts_; }

 private:
  std::string code(uint64_t number) const;

  const std::string prefix_;  // of all codes of this run
  uint64_t rows_ = 0;
  uint64_t planted_ = 0;
  SelfCheckCounts counts_;
};

// "42 questions planted, 42 answers had the right code", with an explanation where they differ.
std::string to_string(const SelfCheckCounts& counts);

// Thread-safe.
class MixUpWatch {
 public:
  explicit MixUpWatch(uint64_t run) : check_(run) {}

  // The question to plant beside a row that is about to be sent; none for most rows, and for rows
  // that are no chats. It is a request like any other: it counts against limits and costs money.
  std::optional<llm::Request> question_beside(const llm::Request& row);

  // Which question a request is; absent for a row.
  std::optional<uint64_t> question_of(const llm::Request& request) const;

  // Takes the outcome of a row or of a question and returns the one to pass on. Once answers were
  // mixed up that is a kBackend failure for every request: no answer can be trusted any more.
  llm::Outcome judge(std::string_view server, std::optional<uint64_t> question,
                     llm::Outcome outcome);

  SelfCheckCounts counts() const;

  // kUnavailable once answers were mixed up.
  std::optional<Error> verdict() const;

 private:
  mutable std::mutex mutex_;
  SelfCheck check_;
  std::string fault_;  // the first mix-up; empty: there was none
};

// Passes all answers of a server that come as a whole through a MixUpWatch. Streams are not
// checked: they have been passed on when they end, and a code may lie across two of their events.
// The planted questions are no streams, and detect mix-ups of streams, too.
class CheckedBackend final : public llm::Backend {
 public:
  // `inner` takes raw bodies; it and `watch` outlive this. `name` is for messages.
  CheckedBackend(llm::Backend& inner, std::string name, MixUpWatch& watch)
      : inner_(inner), name_(std::move(name)), watch_(watch) {}

  void submit(llm::BackendCall call, Done done) override {
    const std::optional<uint64_t> question = watch_.question_of(*call.request);
    inner_.submit(std::move(call), [this, question, done = std::move(done)](llm::Outcome outcome) {
      done(watch_.judge(name_, question, std::move(outcome)));
    });
  }
  int32_t in_flight_target() const override { return inner_.in_flight_target(); }
  llm::BackendStats stats() const override { return inner_.stats(); }

 private:
  llm::Backend& inner_;
  const std::string name_;
  MixUpWatch& watch_;
};

}  // namespace windrow::upstream
