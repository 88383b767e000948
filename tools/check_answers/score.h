// Score: the verdicts of a whole file, task by task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check_answers/judge.h"

namespace windrow::check_answers {

struct PartScore {
  std::string name;
  int64_t rows = 0;  // rows whose right answer has this part
  int64_t right = 0;
};

struct TaskScore {
  std::string task;
  int64_t rows = 0;  // of the key
  int64_t right = 0;
  int64_t missing = 0;           // rows without an answer; none of them is right
  std::vector<PartScore> parts;  // in the order in which they were met
};

struct Score {
  std::vector<TaskScore> tasks;  // in the order in which they were met
  int64_t unknown = 0;           // results of rows that the key does not have
};

// `missing`: there was no answer to judge.
void add(Score& score, const std::string& task, const Verdict& verdict, bool missing);

// 0 to 100, cut after the first digit behind the point: 100 means all. 0 of 0 is 0.
double percent(int64_t right, int64_t rows);

}  // namespace windrow::check_answers
