#include "check_answers/score.h"

#include <algorithm>

namespace windrow::check_answers {

namespace {

template <class Entry>
Entry& entry(std::vector<Entry>& entries, std::string Entry::* name, const std::string& wanted) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& known) { return known.*name == wanted; });
  if (found != entries.end()) return *found;
  Entry& added = entries.emplace_back();
  added.*name = wanted;
  return added;
}

}  // namespace

void add(Score& score, const std::string& task, const Verdict& verdict, bool missing) {
  TaskScore& task_score = entry(score.tasks, &TaskScore::task, task);
  ++task_score.rows;
  task_score.right += verdict.right ? 1 : 0;
  task_score.missing += missing ? 1 : 0;
  for (const Part& part : verdict.parts) {
    PartScore& part_score = entry(task_score.parts, &PartScore::name, part.name);
    ++part_score.rows;
    part_score.right += part.right ? 1 : 0;
  }
}

double percent(int64_t right, int64_t rows) {
  const int64_t per_mille = rows == 0 ? 0 : right * 1000 / rows;
  return static_cast<double>(per_mille) / 10;
}

}  // namespace windrow::check_answers
