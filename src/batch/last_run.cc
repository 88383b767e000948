#include "batch/last_run.h"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

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

}  // namespace windrow::batch
