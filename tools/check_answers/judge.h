// Whether one answer is right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace windrow::check_answers {

struct Part {
  std::string name;
  bool right = false;

  friend bool operator==(const Part&, const Part&) = default;
};

struct Verdict {
  bool right = false;
  std::vector<Part> parts;  // of the right answer, in its order; empty when it has none

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Two JSON values are compared as such: the order of an object's members means nothing, that of a
// list does. Other answers are compared as texts, without blanks around them. The parts are the
// members of the right answer, where that is an object.
//
// Answers of the task "consolidation" are compared by their actions, in any order: the kind, the
// observation and the set of source facts. Its parts are the three kinds, and "texts": the actions
// are right and so are their texts.
Verdict judge(std::string_view task, std::string_view expected, std::string_view given);

// The same for an answer that is not there.
Verdict judge_nothing(std::string_view task, std::string_view expected);

}  // namespace windrow::check_answers
