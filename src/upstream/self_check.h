// Whether a server gives a request the answer to another one. Servers and proxies have done so
// under load, and nothing in such an answer looks wrong. So questions are planted among the rows
// whose answer shows whose it is: each asks for a code of its own to be repeated. A code that turns
// up anywhere else was given away. Pure; used by one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace windrow::upstream {

// What was seen so far.
struct SelfCheckCounts {
  int64_t planted = 0;   // questions that were answered
  int64_t repeated = 0;  // of these, with their own code: the model can do it, and it was its own
  int64_t mixed_up = 0;  // answers with the code of another question

  friend bool operator==(const SelfCheckCounts&, const SelfCheckCounts&) = default;
};

// Of an answer to a question: enough for the code, and for a model that talks around it.
inline constexpr int32_t kQuestionTokensMax = 64;

class SelfCheck {
 public:
  // `run` tells this run's codes from others'; drawn at random.
  explicit SelfCheck(uint64_t run);

  // Whether a question should be planted beside the row that is sent now: the first few rows, then
  // one of twenty.
  bool wants_one();

  struct Question {
    uint64_t number = 0;
    std::string body;  // of /v1/chat/completions
  };
  Question plant(std::string_view model);

  // Which question a request's body asks; nothing where it is another's.
  std::optional<uint64_t> question_in(std::string_view body) const;

  // The answers, as their bodies came. What is wrong, for people, as soon as something is.
  std::optional<std::string> see_row(std::string_view body);
  std::optional<std::string> see_question(uint64_t number, std::string_view body);

  const SelfCheckCounts& counts() const { return counts_; }

 private:
  std::string code(uint64_t number) const;

  const std::string prefix_;  // of every code of this run
  uint64_t rows_ = 0;
  uint64_t planted_ = 0;
  SelfCheckCounts counts_;
};

// "42 questions planted, 42 answers had the right code"; what it means where that is not so.
std::string to_string(const SelfCheckCounts& counts);

}  // namespace windrow::upstream
