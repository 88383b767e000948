#include "check_answers/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "check_answers/json_answer.h"
#include "check_answers/judge.h"
#include "check_answers/key_line.h"
#include "check_answers/result_line.h"

namespace windrow::check_answers {

namespace {

namespace fs = std::filesystem;

struct Row {
  KeyLine key;
  bool seen = false;  // there is a result for it
  std::optional<std::string> answer;
};

// Every line that is not blank. Errors of `take` come back with file and line in front.
Result<void> each_line(const fs::path& path,
                       const std::function<Result<void>(std::string_view)>& take) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return Error{ErrorKind::kInvalid, fmt::format("{} is a folder", path.string())};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{errno == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
                 fmt::format("{} cannot be read: {}", path.string(),
                             std::generic_category().message(errno))};
  }
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (trimmed(line).empty()) continue;
    const Result<void> taken = take(line);
    if (!taken) return taken.error().in(fmt::format("{}:{}", path.string(), number));
  }
  if (file.bad()) {
    return Error{ErrorKind::kIo, fmt::format("{} cannot be read to its end", path.string())};
  }
  return {};
}

class Rows {
 public:
  Result<void> add_key(std::string_view line) {
    Result<KeyLine> key = read_key_line(line);
    if (!key) return key.error();
    if (!by_id_.try_emplace(key->custom_id, rows_.size()).second) {
      return Error{ErrorKind::kInvalid, fmt::format("\"{}\" is there twice", key->custom_id)};
    }
    rows_.push_back({.key = *std::move(key), .seen = false, .answer = {}});
    return {};
  }

  Result<void> add_result(std::string_view line) {
    Result<ResultLine> result = read_result_line(line);
    if (!result) return result.error();
    const auto found = by_id_.find(result->custom_id);
    if (found == by_id_.end()) {
      ++unknown_;
      return {};
    }
    Row& row = rows_[found->second];
    if (row.seen) {
      return Error{ErrorKind::kInvalid, fmt::format("\"{}\" is there twice", result->custom_id)};
    }
    row.seen = true;
    row.answer = std::move(result->answer);
    return {};
  }

  bool empty() const { return rows_.empty(); }

  Checked judged(size_t wrong_max) const {
    Checked checked;
    checked.score.unknown = unknown_;
    for (const Row& row : rows_) {
      const Verdict verdict = row.answer ? judge(row.key.task, row.key.answer, *row.answer)
                                         : judge_nothing(row.key.task, row.key.answer);
      add(checked.score, row.key.task, verdict, !row.answer);
      if (!verdict.right && checked.wrong.size() < wrong_max) {
        checked.wrong.push_back({row.key.custom_id, row.key.answer, row.answer});
      }
    }
    return checked;
  }

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, size_t> by_id_;
  int64_t unknown_ = 0;
};

}  // namespace

Result<Checked> check_files(const fs::path& results, const fs::path& key, size_t wrong_max) {
  Rows rows;
  Result<void> read = each_line(key, [&](std::string_view line) { return rows.add_key(line); });
  if (!read) return read.error();
  if (rows.empty()) {
    return Error{ErrorKind::kInvalid, fmt::format("{} holds no rows", key.string())};
  }
  read = each_line(results, [&](std::string_view line) { return rows.add_result(line); });
  if (!read) return read.error();
  return rows.judged(wrong_max);
}

}  // namespace windrow::check_answers
