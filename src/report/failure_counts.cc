#include "report/failure_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "batch/log_scan.h"
#include "json/limits.h"

namespace windrow::report {
namespace {

namespace json = boost::json;

using Kind = std::pair<int32_t, std::string>;

const json::object* failure_object(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

constexpr size_t kExampleBytesMax = 76;  // in a line of the summary, on a narrow terminal

struct ReadFailure {
  Kind kind{0, "unreadable"};
  std::string example;
};

// "custom_id "a": temperature is 9", cut where it is long; empty where the line tells neither.
std::string example_of(const json::object& line, const json::object& error) {
  const json::value* id = line.if_contains("custom_id");
  const json::value* message = error.if_contains("message");
  if (message == nullptr || !message->is_string()) return "";
  std::string text;
  if (id != nullptr && id->is_string())
    text = fmt::format("custom_id \"{}\": ", std::string_view(id->get_string()));
  text += std::string_view(message->get_string());
  std::ranges::replace(text, '\n', ' ');
  if (text.size() <= kExampleBytesMax) return text;
  return utf8_repair(text.substr(0, kExampleBytesMax)) + "...";
}

ReadFailure read_failure(std::string_view line) {
  boost::system::error_code not_json;
  const json::value parsed = json::parse(line, not_json, {}, {.max_depth = kWrittenJsonDepthMax});
  ReadFailure failure;
  const json::object* object = not_json ? nullptr : parsed.if_object();
  if (object == nullptr) return failure;
  if (const json::object* response = failure_object(*object, "response")) {
    if (const json::value* status = response->if_contains("status_code");
        status != nullptr && status->is_int64()) {
      failure.kind.first = static_cast<int32_t>(status->get_int64());
    }
  }
  if (const json::object* error = failure_object(*object, "error")) {
    if (const json::value* code = error->if_contains("code");
        code != nullptr && code->is_string()) {
      failure.kind.second = std::string(code->get_string());
    }
    failure.example = example_of(*object, *error);
  }
  return failure;
}

}  // namespace

json::array failures_to_json(const std::vector<FailureCount>& failures) {
  json::array array;
  for (const FailureCount& failure : failures) {
    json::object object{{"status", failure.status}, {"code", failure.code}, {"rows", failure.rows}};
    if (failure.status == 0) object["status"] = nullptr;
    if (!failure.example.empty()) object["example"] = failure.example;
    array.push_back(std::move(object));
  }
  return array;
}

std::string failure_text(const FailureCount& failure) {
  const std::string status = failure.status == 0 ? "" : fmt::format("{} ", failure.status);
  return fmt::format("{} x {}{}", with_thousands(failure.rows), status, failure.code);
}

void FailureCounter::add(int32_t status, std::string_view code, std::string_view example) {
  Kind kind{status, code};
  const bool room = kinds_.size() < kFailureKindsMax || kinds_.contains(kind);
  Seen& seen = kinds_[room ? std::move(kind) : Kind{0, "others"}];
  if (seen.rows++ == 0) seen.example = example;
}

std::vector<FailureCount> FailureCounter::counts() const {
  std::vector<FailureCount> result;
  result.reserve(kinds_.size());
  for (const auto& [kind, seen] : kinds_) {
    result.push_back(
        {.status = kind.first, .code = kind.second, .rows = seen.rows, .example = seen.example});
  }
  std::ranges::sort(result, {}, [](const FailureCount& count) {
    return std::tuple(-count.rows, count.status, std::string_view(count.code));
  });
  return result;
}

Result<std::vector<FailureCount>> count_failures(store::Disk& disk, const std::string& path) {
  Result<std::unique_ptr<store::ReadFile>> file = disk.open_read(path);
  if (!file) {
    if (file.error().kind == ErrorKind::kNotFound) return std::vector<FailureCount>();
    return file.error();
  }
  FailureCounter counter;
  batch::LogLines lines(**file);
  for (;;) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) break;
    const ReadFailure failure = read_failure(**line);
    counter.add(failure.kind.first, failure.kind.second, failure.example);
  }
  return counter.counts();
}

}  // namespace windrow::report
