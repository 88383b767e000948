// Ledger: what servers were asked and what they answered, kept outside of the process that asked,
// as a bill is. A question is known by the word in it, which no other question has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace windrow::simulate {

// The sendings of a question by one process.
struct Asked {
  int64_t arrived = 0;
  int64_t answered = 0;  // its answer was handed over whole
};

// One sending of a question. Numbers count what happened, so that one comes before the other.
struct Sending {
  std::string word;
  TimePoint at;
  TimePoint ended_at = TimePoint::max();
  uint64_t begun = 0;
  uint64_t ended = UINT64_MAX;
};

class Ledger {
 public:
  // A new process: what its predecessors did is over.
  void begin() {
    asked_.clear();
    sendings_.clear();
  }

  // Handed to the network; returns which sending it is.
  size_t sent(const std::string& word, TimePoint now) {
    sendings_.push_back({.word = word, .at = now, .begun = next_number()});
    return sendings_.size() - 1;
  }
  void arrived(const std::string& word) { ++asked_[word].arrived; }
  void answered(const std::string& word) { ++asked_[word].answered; }
  void ended(size_t sending, TimePoint now) {
    sendings_[sending].ended = next_number();
    sendings_[sending].ended_at = now;
  }

  // A moment between what was and what will be.
  uint64_t next_number() { return ++numbers_; }

  const std::map<std::string, Asked>& asked() const { return asked_; }
  const std::vector<Sending>& sendings() const { return sendings_; }

 private:
  std::map<std::string, Asked> asked_;
  std::vector<Sending> sendings_;
  uint64_t numbers_ = 0;
};

// "word-17" in the body of a request or of a whole, good answer; empty where there is none.
std::string word_in_request(const std::string& body);
std::string word_in_answer(const std::string& body);

// The text of the one choice of a reply's body; empty where it is none.
std::string answer_in(const std::string& body);

}  // namespace windrow::simulate
