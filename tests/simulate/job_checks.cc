#include "simulate/job_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/job_files.h"
#include "simulate/report.h"

namespace windrow::simulate {
namespace {

using LineKind = InputLine::Kind;

// Rows that go out while the thread that has the one before them is not drawn.
constexpr size_t kUnluckyChecksMax = 32;

// The time from the end of the grace to the return of a run that was told to stop: a few turns of
// its threads and some syncs, perhaps on a busy machine.
Duration stop_time_max(const ThreadOptions& threads) {
  return std::chrono::seconds(threads.hiccup > 0 ? 60 : 2);
}

bool is_reported_as_line(LineKind kind) {
  return kind == LineKind::kUnnamed || kind == LineKind::kSecond;
}

}  // namespace

JobChecks::JobChecks(const JobInput& input, const ThreadOptions& threads)
    : input_(input), interleaving_(threads.interleaving), stop_time_max_(stop_time_max(threads)) {
  int64_t number = 0;
  for (const InputLine& line : input.lines) {
    ++number;
    if (line.kind == LineKind::kBlank || is_reported_as_line(line.kind)) continue;
    rows_[line.custom_id] = &line;
    if (!line.word.empty()) rows_of_words_[line.word].insert(line.custom_id);
    lines_of_words_[line.word] = number;
  }
  std::erase_if(lines_of_words_, [&](const auto& line) {
    return line.first.empty() || rows_of_words_.at(line.first).size() > 1;
  });
}

// --- the files --------------------------------------------------------------------------------

JobState JobChecks::read_state(const store::testing::MemoryDisk& disk) const {
  JobState state;
  const std::string results = disk.get("r.jsonl");
  const std::string errors = disk.get("r.errors.jsonl");
  for (const bool of_results : {true, false}) {
    const Log log = read_log(of_results ? results : errors);
    const std::string_view name = of_results ? "results" : "errors";
    INVARIANT(log.broken.empty(), "logs are whole lines", "{}: {}", name, log.broken);
    if (!log.torn.empty()) state.torn = true;
    int64_t line = 0;
    for (const LogEntry& entry : log.entries) {
      of_results ? check_result(entry, state) : check_error(entry, state);
      if (entry.line < line) state.ordered = false;
      line = entry.line;
    }
  }
  state.text = results + errors;
  return state;
}

void JobChecks::check_result(const LogEntry& entry, JobState& state) const {
  const auto row = rows_.find(entry.custom_id);
  INVARIANT(row != rows_.end(), "results are of rows", "\"{}\" is no row", entry.custom_id);
  INVARIANT(entry.answer == row->second->word, "every answer belongs to its row",
            "\"{}\" asked for {} and got \"{}\"", entry.custom_id, row->second->word, entry.answer);
  INVARIANT(row->second->kind == LineKind::kRow, "what cannot be answered fails",
            "\"{}\" has an answer", entry.custom_id);
  INVARIANT(state.results.emplace(entry.custom_id, entry.answer).second, "every row once",
            "\"{}\" is there twice", entry.custom_id);
}

// Called for all results first.
void JobChecks::check_error(const LogEntry& entry, JobState& state) const {
  if (entry.of_line) {
    const auto number = static_cast<size_t>(entry.line);
    INVARIANT(number >= 1 && number <= input_.lines.size(), "errors are of lines", "line {}",
              entry.line);
    const InputLine& line = input_.lines[number - 1];
    INVARIANT(is_reported_as_line(line.kind) && entry.code == line.error, "errors are of lines",
              "line {} is reported as {}, and is \"{}\"", entry.line, entry.code, line.text);
    if (!state.lines.insert(entry.line).second) state.settled = false;
    return;
  }
  const auto row = rows_.find(entry.custom_id);
  INVARIANT(row != rows_.end(), "errors are of rows", "\"{}\" is no row", entry.custom_id);
  const bool may_pass =
      row->second->kind == LineKind::kRow || row->second->kind == LineKind::kTooLong;
  INVARIANT(entry.code == row->second->error || may_pass, "every failure belongs to its row",
            "\"{}\" failed with {}, not {}", entry.custom_id, entry.code, row->second->error);
  if (state.has(entry.custom_id)) state.settled = false;
  if (!state.results.contains(entry.custom_id)) state.errors[entry.custom_id] = entry;
}

JobDisk JobChecks::read(const store::testing::MemoryDisk& disk) const {
  JobDisk read{.seen = read_state(disk)};
  // With the names that were synced, and with those of now: a name may be safe or not.
  const auto old_names = disk.copy();
  old_names->drop_unsynced();
  const auto new_names = disk.copy();
  static_cast<void>(new_names->sync_folder_of(""));
  new_names->drop_unsynced();
  const JobState one = read_state(*old_names);
  const JobState other = read_state(*new_names);
  for (const auto& [custom_id, answer] : read.seen.results) {
    if (one.results.contains(custom_id) && other.results.contains(custom_id))
      read.safe.results.emplace(custom_id, answer);
  }
  for (const auto& [custom_id, entry] : read.seen.errors) {
    if (one.has(custom_id) && other.has(custom_id)) read.safe.errors.emplace(custom_id, entry);
  }
  for (const int64_t line : read.seen.lines) {
    if (one.lines.contains(line) && other.lines.contains(line)) read.safe.lines.insert(line);
  }
  return read;
}

void JobChecks::complete(const JobState& state) const {
  INVARIANT(state.settled, "every row once", "some line of the errors counts no more");
  for (const auto& [custom_id, row] : rows_) {
    INVARIANT(row->kind != LineKind::kRow || state.results.contains(custom_id), "every row once",
              "\"{}\" has no result", custom_id);
    INVARIANT(row->kind == LineKind::kRow || state.errors.contains(custom_id), "every row once",
              "\"{}\" has no failure", custom_id);
  }
  for (size_t i = 0; i < input_.lines.size(); ++i) {
    INVARIANT(!is_reported_as_line(input_.lines[i].kind) ||
                  state.lines.contains(static_cast<int64_t>(i) + 1),
              "bad lines are reported once", "line {} is not reported", i + 1);
  }
}

bool JobChecks::has_passing_failures(const JobState& state) const {
  return std::ranges::any_of(state.errors, [&](const auto& entry) {
    return rows_.at(entry.first)->error != entry.second.code;
  });
}

// --- a process --------------------------------------------------------------------------------

void JobChecks::process_ended(const Generation& generation, const JobDisk& found,
                              const JobDisk& left, const JobDisk& now, const ProcessEnd& end,
                              const batch::JobCounters& counters, const Ledger& ledger) const {
  check_end(generation, found, left, end);
  check_counters(generation, found, left, end, counters);
  check_safety(generation, found, left, counters);
  check_safety(generation, found, now, counters);
  check_bill(generation, found.seen, left.seen, end, ledger);
  check_failures(generation, found.seen, left.seen);
  check_order(generation, ledger);
}

void JobChecks::check_end(const Generation& generation, const JobDisk& found, const JobDisk& left,
                          const ProcessEnd& end) const {
  // Superseded lines are there while failed rows run again, and at most until the next end.
  INVARIANT(left.seen.settled || generation.retry_failed || !found.seen.settled, "every row once",
            "some line of the errors counts no more");
  if (end.end == RunEnd::kKilled) return;
  const Result<batch::JobReport>& result = *end.result;
  INVARIANT(result || generation.disk_breaks(), "a run without faults of the disk ends well", "{}",
            result.error().message);
  if (end.stopped_at) {
    INVARIANT(end.returned_at <= *end.stopped_at + generation.grace + stop_time_max_,
              "no stop takes longer than it may", "it took {:.1f} s",
              windrow::seconds(end.returned_at - *end.stopped_at));
  }
  if (end.stopped_now_at) {
    INVARIANT(end.returned_at <= *end.stopped_now_at + stop_time_max_,
              "no stop takes longer than it may", "it took {:.1f} s",
              windrow::seconds(end.returned_at - *end.stopped_now_at));
  }
  if (!result) return;
  // A log that the process never opened is as it was.
  INVARIANT(!left.seen.torn || left.seen.text == found.seen.text, "logs are whole lines",
            "the last one is not");
  INVARIANT(left.seen.settled || left.seen.text == found.seen.text, "every row once",
            "some line of the errors counts no more");
  if (result->end == batch::JobEnd::kInterrupted) {
    INVARIANT(end.stopped_at || end.stopped_now_at, "only a stop interrupts", "it says so");
  }
  INVARIANT(!result->ordered || left.seen.ordered, "an ordered job is in order", "it is not");
}

void JobChecks::check_counters(const Generation& generation, const JobDisk& found,
                               const JobDisk& left, const ProcessEnd& end,
                               const batch::JobCounters& counters) const {
  if (end.end != RunEnd::kEnded || generation.disk_breaks()) return;
  const int64_t results = std::ssize(found.seen.results) + counters.rows_succeeded;
  INVARIANT(std::ssize(left.seen.results) == results, "counters agree with files",
            "{} results are there, {} counted", left.seen.results.size(), results);
  if (!generation.retry_failed) {
    const int64_t failures = found.seen.failures() + counters.rows_failed;
    INVARIANT(left.seen.failures() == failures, "counters agree with files",
              "{} failures are there, {} counted", left.seen.failures(), failures);
  }
  INVARIANT(
      counters.rows_queued == 0 && counters.rows_in_flight == 0 && counters.rows_unwritten == 0,
      "nothing is on its way after the end", "{} queued, {} in flight, {} unwritten",
      counters.rows_queued.load(), counters.rows_in_flight.load(), counters.rows_unwritten.load());
}

// Outcomes that were safe stay, and outcomes that are counted are safe: also those that a process
// found, once it has written.
void JobChecks::check_safety(const Generation& generation, const JobDisk& found, const JobDisk& now,
                             const batch::JobCounters& counters) const {
  for (const auto& [custom_id, answer] : found.safe.results) {
    INVARIANT(now.seen.results.contains(custom_id), "what is safe stays", "\"{}\" is gone",
              custom_id);
  }
  for (const auto& [custom_id, entry] : found.safe.errors) {
    INVARIANT(now.seen.has(custom_id), "what is safe stays", "\"{}\" is gone", custom_id);
  }
  for (const int64_t line : found.safe.lines) {
    INVARIANT(now.seen.lines.contains(line), "what is safe stays", "line {} is gone", line);
  }
  const bool wrote = counters.rows_succeeded + counters.rows_failed > 0;
  const JobState& base = wrote ? found.seen : found.safe;
  const int64_t results = std::ssize(base.results) + counters.rows_succeeded;
  INVARIANT(std::ssize(now.safe.results) >= results, "a row counts only when it is safe",
            "{} results are safe, {} counted", now.safe.results.size(), results);
  const int64_t failures = (generation.retry_failed ? 0 : base.failures()) + counters.rows_failed;
  INVARIANT(now.safe.failures() >= failures, "a row counts only when it is safe",
            "{} failures are safe, {} counted", now.safe.failures(), failures);
}

void JobChecks::check_bill(const Generation& generation, const JobState& found,
                           const JobState& left, const ProcessEnd& end,
                           const Ledger& ledger) const {
  for (const auto& [custom_id, answer] : left.results) {
    if (found.results.contains(custom_id)) continue;
    const auto asked = ledger.asked().find(answer);
    INVARIANT(asked != ledger.asked().end() && asked->second.answered > 0,
              "results come from servers", "{} was never answered", answer);
  }
  const auto was_done = [&](const std::string& custom_id) {
    return found.results.contains(custom_id) ||
           (found.errors.contains(custom_id) && !generation.retry_failed);
  };
  for (const auto& [word, asked] : ledger.asked()) {
    const auto rows = rows_of_words_.find(word);
    INVARIANT(rows != rows_of_words_.end(), "only rows are asked", "{} is of none", word);
    std::set<std::string> open;
    std::set<std::string> recorded;
    for (const std::string& custom_id : rows->second) {
      if (was_done(custom_id)) continue;
      open.insert(custom_id);
      if (left.results.contains(custom_id)) recorded.insert(custom_id);
    }
    INVARIANT(!open.empty(), "what is recorded is not asked again", "{} was", word);
    INVARIANT(asked.answered <= std::ssize(open), "no row is billed twice",
              "{} was answered {} times, for {} rows", word, asked.answered, open.size());
    if (end.end != RunEnd::kEnded || generation.disk_breaks()) continue;
    INVARIANT(asked.answered <= std::ssize(recorded), "a clean end loses no answer",
              "{} was answered {} times, and {} rows have it", word, asked.answered,
              recorded.size());
  }
}

// A row that another attempt might answer fails when there is none left, or when servers had too
// much to do for as long as patience lasts.
void JobChecks::check_failures(const Generation& generation, const JobState& found,
                               const JobState& left) const {
  for (const auto& [custom_id, entry] : left.errors) {
    const auto before = found.errors.find(custom_id);
    const bool is_new = before == found.errors.end() || before->second != entry;
    if (!is_new || entry.code == rows_.at(custom_id)->error) continue;
    INVARIANT(entry.code != "cancelled", "what is cancelled is no result", "\"{}\" was", custom_id);
    const bool overloaded = entry.status == 429 || entry.status == 503 || entry.status == 529;
    INVARIANT(overloaded || entry.attempts >= generation.dispatch.attempts_max,
              "a row fails when its attempts are used up", "\"{}\" had {} of {}: {}", custom_id,
              entry.attempts, generation.dispatch.attempts_max, entry.code);
  }
}

// A row is overtaken by no more later rows than the planner and the dispatcher say. Where several
// servers have homes of prefixes, or a thread may stand still for as long as it is unlucky, there
// is no such bound.
void JobChecks::check_order(const Generation& generation, const Ledger& ledger) const {
  if (generation.servers.size() > 1 || interleaving_ != Interleaving::kAny) return;
  const size_t bound = generation.look_ahead.overtaken_max() +
                       static_cast<size_t>(generation.dispatch.waiting_max) + kUnluckyChecksMax;
  std::vector<int64_t> lines;
  std::set<std::string_view> seen;
  for (const Sending& sending : ledger.sendings()) {
    const auto line = lines_of_words_.find(sending.word);
    if (line == lines_of_words_.end() || !seen.insert(sending.word).second) continue;
    const auto overtook = static_cast<size_t>(
        std::ranges::count_if(lines, [&](int64_t other) { return other > line->second; }));
    INVARIANT(overtook <= bound, "overtaking is bounded", "{} later rows went before line {}",
              overtook, line->second);
    lines.push_back(line->second);
  }
}

}  // namespace windrow::simulate
