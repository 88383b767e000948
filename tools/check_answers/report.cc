#include "check_answers/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace windrow::check_answers {

namespace json = boost::json;

std::string report_text(const Score& score) {
  size_t width = std::string_view("task").size();
  for (const TaskScore& task : score.tasks)
    width = std::max(width, task.task.size());
  std::string text =
      fmt::format("{:<{}}  {:>7}  {:>7}  {:>6}\n", "task", width, "rows", "exact", "%");
  std::string notes;
  for (const TaskScore& task : score.tasks) {
    text +=
        fmt::format("{:<{}}  {:>7}  {:>7}  {:>6.1f}", task.task, width, with_thousands(task.rows),
                    with_thousands(task.right), percent(task.right, task.rows));
    std::string separator = "   ";
    for (const PartScore& part : task.parts) {
      text += fmt::format("{}{} {:.1f}", separator, part.name, percent(part.right, part.rows));
      separator = ", ";
    }
    text += '\n';
    if (task.missing > 0) {
      notes += fmt::format("{}: {} rows have no answer; they count as wrong\n", task.task,
                           with_thousands(task.missing));
    }
  }
  if (score.unknown > 0) {
    notes += fmt::format("{} results are of rows that the key does not have; they do not count\n",
                         with_thousands(score.unknown));
  }
  return text + notes;
}

json::object report_json(const Score& score) {
  json::object tasks;
  for (const TaskScore& task : score.tasks) {
    json::object parts;
    for (const PartScore& part : task.parts)
      parts.emplace(part.name, percent(part.right, part.rows));
    tasks.emplace(task.task, json::object{{"rows", task.rows},
                                          {"right", task.right},
                                          {"percent", percent(task.right, task.rows)},
                                          {"missing", task.missing},
                                          {"parts", std::move(parts)}});
  }
  return {{"tasks", std::move(tasks)}, {"unknown", score.unknown}};
}

}  // namespace windrow::check_answers
