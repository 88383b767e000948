// Ledger: what servers were asked and what they answered, kept outside of the process that asked,
// as a bill is. A question is known by the word in it that nobody else's question has.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace windrow::simulate {

// Of one process.
struct Asked {
  int64_t arrived = 0;
  int64_t answered = 0;  // its answer was handed over whole
};

class Ledger {
 public:
  // A new process: what its predecessors did is over.
  void begin() {
    asked_.clear();
    sent_.clear();
    order_.clear();
  }

  // Handed to the network for the first time, or again.
  void sent(const std::string& word) {
    if (sent_.insert(word).second) order_.push_back(word);
  }

  void arrived(const std::string& word) { ++asked_[word].arrived; }
  void answered(const std::string& word) { ++asked_[word].answered; }

  const std::map<std::string, Asked>& asked() const { return asked_; }
  const std::vector<std::string>& order() const { return order_; }  // of the first sendings

 private:
  std::map<std::string, Asked> asked_;
  std::set<std::string> sent_;
  std::vector<std::string> order_;
};

// "word-17" in the body of a request or of a whole, good answer; empty where there is none.
std::string word_in_request(const std::string& body);
std::string word_in_answer(const std::string& body);

// The text of the one choice of a reply's body; empty where it is none.
std::string answer_in(const std::string& body);

}  // namespace windrow::simulate
