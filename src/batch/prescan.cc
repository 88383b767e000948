#include "batch/prescan.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/format.h"
#include "batch/fast_row_scanner.h"
#include "batch/row.h"

namespace windrow::batch {
namespace {

// Calls `see` with every line that is not blank, at most rows_max of them.
template <class See>
Prescan walk(LineSource& lines, std::optional<int64_t> rows_max, See see) {
  Prescan prescan;
  while (!rows_max || prescan.rows < *rows_max) {
    const auto line = lines.next();
    if (!line) {
      prescan.error = line.error();
      return prescan;
    }
    if (!*line) break;
    ++prescan.rows;
    see(**line, prescan);
  }
  prescan.whole = true;
  return prescan;
}

void count(Verdict verdict, const RowKey& key, const RowIndex& index, Prescan& prescan) {
  const bool waits =
      verdict == Verdict::kRun || verdict == Verdict::kDuplicate || verdict == Verdict::kReport;
  if (waits || index.retries_line(key.line)) ++prescan.rows_to_look_at;
  switch (verdict) {
    case Verdict::kSucceeded:
      ++prescan.rows_finished;
      return;
    case Verdict::kFailed:
    case Verdict::kReportedBefore:
      ++prescan.rows_finished;
      ++prescan.rows_finished_failed;
      return;
    case Verdict::kChanged: {
      const bool succeeded = index.succeeded(key.identity);
      ++prescan.rows_changed;
      if (!succeeded) ++prescan.rows_changed_failed;
      if (prescan.changed.size() < kNamedMax) {
        prescan.changed.push_back(
            {.line = key.line, .custom_id = key.custom_id, .succeeded = succeeded});
      }
      return;
    }
    case Verdict::kNotWanted:
      ++prescan.rows_not_wanted;
      return;
    case Verdict::kRun:
    case Verdict::kDuplicate:
    case Verdict::kReport:
      return;
  }
}

}  // namespace

Prescan count_rows(LineSource& lines, std::optional<int64_t> rows_max) {
  return walk(lines, rows_max, [](const Line&, Prescan&) {});
}

Prescan compare_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                     RowIndex& index) {
  FastRowScanner scanner(reader.form());
  return walk(lines, rows_max, [&](const Line& line, Prescan& prescan) {
    if (const auto finished = scanner.pass_over(line, Pass::kCheck, index)) {
      count(*finished, RowKey{.line = line.number}, index, prescan);
      return;
    }
    const auto opened = reader.open(line);
    if (const auto* fault = std::get_if<RowFault>(&opened)) {
      count(index.lookup_line(Pass::kCheck, fault->key), fault->key, index, prescan);
      return;
    }
    const RowKey& key = std::get<Envelope>(opened).key;
    const Verdict verdict =
        index.lookup_row(Pass::kCheck, key, line_fingerprint(line.bytes, line.length));
    count(verdict, key, index, prescan);
  });
}

Prescan check_rows(LineSource& lines, std::optional<int64_t> rows_max, const RowReader& reader,
                   RowIndex& index, const RowCheck& check,
                   const std::function<void(const RowFault&)>& on_fault) {
  return walk(lines, rows_max, [&](const Line& line, Prescan& prescan) {
    auto opened = reader.open(line);
    if (const auto* fault = std::get_if<RowFault>(&opened)) {
      const Verdict verdict = index.lookup_line(Pass::kCheck, fault->key);
      count(verdict, fault->key, index, prescan);
      if (verdict != Verdict::kNotWanted) on_fault(*fault);
      return;
    }
    auto& envelope = std::get<Envelope>(opened);
    const Verdict verdict =
        index.lookup_row(Pass::kCheck, envelope.key, line_fingerprint(line.bytes, line.length));
    count(verdict, envelope.key, index, prescan);
    if (verdict == Verdict::kNotWanted) return;
    if (verdict == Verdict::kDuplicate || verdict == Verdict::kReportedBefore) {
      on_fault(duplicate_fault(envelope.key, line));
      return;
    }
    const RowOrFault finished = reader.finish(std::move(envelope));
    if (const auto* fault = std::get_if<RowFault>(&finished)) {
      on_fault(*fault);
      return;
    }
    const Row& row = std::get<Row>(finished);
    if (!check) return;
    if (auto failure = check(row.request)) {
      on_fault(RowFault{.key = row.key, .failure = *std::move(failure)});
    }
  });
}

Error changed_rows_error(const Prescan& prescan, const std::string& input) {
  std::string named;
  for (const ChangedRow& row : prescan.changed) {
    named += fmt::format("\n  line {}, custom_id \"{}\"{}", row.line, row.custom_id,
                         row.succeeded ? "" : " (failed before)");
  }
  const auto more = prescan.rows_changed - static_cast<int64_t>(prescan.changed.size());
  if (more > 0) named += fmt::format("\n  and {} more", with_thousands(more));
  std::string advice = "\nrestore the original rows, or give the changed ones new custom_ids";
  if (prescan.rows_changed_failed > 0) {
    advice += "; --retry-failed reruns failed rows with their new content";
  }
  advice += "; --fresh starts over and keeps the old files under new names";
  return Error{ErrorKind::kConflict,
               fmt::format("{}: {} changed since {} been run:{}{}", input,
                           prescan.rows_changed == 1
                               ? std::string("a row")
                               : fmt::format("{} rows", with_thousands(prescan.rows_changed)),
                           prescan.rows_changed == 1 ? "it has" : "they have", named, advice)};
}

}  // namespace windrow::batch
