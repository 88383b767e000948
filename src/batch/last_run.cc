#include "batch/last_run.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "base/format.h"
#include "json/values.h"

namespace windrow::batch {

namespace json = boost::json;

namespace {

// -1 if the object has no such number.
int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr || !value->is_int64() ? -1 : value->get_int64();
}

}  // namespace

std::optional<LastRun> read_last_run(std::string_view summary) {
  boost::system::error_code not_json;
  const json::value parsed = json::parse(summary, not_json);
  const json::object* object = not_json ? nullptr : parsed.if_object();
  const json::object* rows = object == nullptr ? nullptr : object_in(*object, "rows");
  if (rows == nullptr) return std::nullopt;
  LastRun last{.end = std::string(text_in(*object, "end")),
               .error = std::string(text_in(*object, "error")),
               .rows_total = number_in(*rows, "total"),
               .rows_left = number_in(*rows, "left"),
               .rows_succeeded = number_in(*rows, "succeeded")};
  if (last.end.empty()) return std::nullopt;
  if (const json::object* bytes = object_in(*object, "log_bytes")) {
    last.results_bytes = number_in(*bytes, "results");
    last.errors_bytes = number_in(*bytes, "errors");
  }
  return last;
}

namespace {

Error lost_results_error(const std::string& what) {
  return Error{
      ErrorKind::kConflict,
      fmt::format("{}. Put the results back, so that their rows are not asked and paid for "
                  "again, or use --fresh, which keeps what is left under another name and "
                  "starts over",
                  what)};
}

}  // namespace

Result<int64_t> find_lost_results(store::Disk& disk, const JobPaths& paths, int64_t lines) {
  std::optional<LastRun> last;
  if (const auto summary = disk.read_all(paths.summary)) last = read_last_run(*summary);
  if (last && last->rows_succeeded > lines) {
    if (lines > 0) return last->rows_succeeded;
    return lost_results_error(fmt::format(
        "{} counts {} {} with a result, and {} {}", paths.summary,
        with_thousands(last->rows_succeeded), last->rows_succeeded == 1 ? "row" : "rows",
        paths.results, disk.exists(paths.results) ? "is empty" : "is not there"));
  }
  // A record is written once there are logs, and only a run that ends writes a summary.
  if (!last && disk.exists(paths.record) && !disk.exists(paths.results)) {
    return lost_results_error(fmt::format(
        "{} says that a job was begun here, and its results, {}, are not there; how many rows had "
        "one is not known",
        paths.record, paths.results));
  }
  return 0;
}

}  // namespace windrow::batch
