// SelfCheck: detects a server that gives a request the answer to another one. Servers and proxies
// have done so under load, and nothing in such an answer looks wrong. So questions are planted
// among the rows, each with a code of its own that the answer has to repeat; a code in any other
// answer shows a mix-up. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::upstream {

struct SelfCheckCounts {
  int64_t planted = 0;   // questions that were answered
  int64_t repeated = 0;  // of these, answers with the right code
  int64_t mixed_up = 0;  // answers with the code of another question

  friend bool operator==(const SelfCheckCounts&, const SelfCheckCounts&) = default;
};

// Limit of the answer to a question: enough for the code and a few words around it.
inline constexpr int32_t kQuestionTokensMax = 64;

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

}  // namespace windrow::upstream
